"""How bytes travel: routes, forwarding, link loads and the bound on them."""

from topoopt.routing.coin_change import CoinTable as CoinTable
from topoopt.routing.coin_change import coin_change_mod as coin_change_mod
from topoopt.routing.coin_routes import CoinChangeRoutes as CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes as EcmpRoutes
from topoopt.routing.fabric import Fabric as Fabric
from topoopt.routing.k_shortest import KShortestRoutes as KShortestRoutes
from topoopt.routing.link_loads import all_pair_links as all_pair_links
from topoopt.routing.link_loads import circulant_link_loads as circulant_link_loads
from topoopt.routing.link_loads import link_loads as link_loads
from topoopt.routing.link_loads import pair_links as pair_links
from topoopt.routing.methods import ROUTING as ROUTING
from topoopt.routing.methods import make_routes as make_routes
from topoopt.routing.pair_links import PairLinks as PairLinks
from topoopt.routing.path_lengths import bandwidth_tax as bandwidth_tax
from topoopt.routing.path_lengths import coin_length_distribution as coin_length_distribution
from topoopt.routing.path_lengths import hop_counts as hop_counts
from topoopt.routing.path_lengths import path_length_distribution as path_length_distribution
from topoopt.routing.routes import Path as Path
from topoopt.routing.routes import Routes as Routes
from topoopt.routing.single_shortest import SingleShortestRoutes as SingleShortestRoutes
