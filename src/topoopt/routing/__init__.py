"""How bytes travel: routes, forwarding, link loads and the bound on them."""

from topoopt.routing.coin_change import CoinTable as CoinTable
from topoopt.routing.coin_change import coin_change_mod as coin_change_mod
from topoopt.routing.fabric import Fabric as Fabric
from topoopt.routing.routes import Path as Path
from topoopt.routing.routes import Routes as Routes
