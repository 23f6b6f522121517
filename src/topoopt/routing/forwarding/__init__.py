"""Forwarding by the servers' kernels, as a plan prescribes: addresses, tables, integer weights and walks."""

from topoopt.routing.forwarding.addressing import IDENTITY_PREFIX as IDENTITY_PREFIX
from topoopt.routing.forwarding.addressing import LINK_PREFIX as LINK_PREFIX
from topoopt.routing.forwarding.addressing import Addressing as Addressing
from topoopt.routing.forwarding.addressing import Cable as Cable
from topoopt.routing.forwarding.addressing import addressed as addressed
from topoopt.routing.forwarding.addressing import checked_prefixes as checked_prefixes
from topoopt.routing.forwarding.build import SPLITS as SPLITS
from topoopt.routing.forwarding.build import all_pairs as all_pairs
from topoopt.routing.forwarding.build import cables_in_turn as cables_in_turn
from topoopt.routing.forwarding.build import forwarding_tables as forwarding_tables
from topoopt.routing.forwarding.tables import Followed as Followed
from topoopt.routing.forwarding.tables import ForwardingTables as ForwardingTables
from topoopt.routing.forwarding.tables import Hop as Hop
from topoopt.routing.forwarding.tables import NextHops as NextHops
from topoopt.routing.forwarding.tables import Route as Route
from topoopt.routing.forwarding.tables import ServerTables as ServerTables
from topoopt.routing.forwarding.tables import Split as Split
from topoopt.routing.forwarding.tables import Ways as Ways
from topoopt.routing.forwarding.tables import follow as follow
from topoopt.routing.forwarding.tables import integer_weights as integer_weights
from topoopt.routing.forwarding.tables import next_hops as next_hops
from topoopt.routing.forwarding.tables import server_tables as server_tables
