"""What every server's kernel does so that bytes go as a plan says: addresses, tables, whole weights, and walks."""

from topoopt.forwarding.addressing import IDENTITY_PREFIX as IDENTITY_PREFIX
from topoopt.forwarding.addressing import LINK_PREFIX as LINK_PREFIX
from topoopt.forwarding.addressing import Addressing as Addressing
from topoopt.forwarding.addressing import Cable as Cable
from topoopt.forwarding.addressing import addressed as addressed
from topoopt.forwarding.addressing import checked_prefixes as checked_prefixes
from topoopt.forwarding.build import SPLITS as SPLITS
from topoopt.forwarding.build import all_pairs as all_pairs
from topoopt.forwarding.build import cables_in_turn as cables_in_turn
from topoopt.forwarding.build import forwarding_tables as forwarding_tables
from topoopt.forwarding.follow import Followed as Followed
from topoopt.forwarding.follow import follow as follow
from topoopt.forwarding.next_hops import NextHops as NextHops
from topoopt.forwarding.next_hops import next_hops as next_hops
from topoopt.forwarding.server_tables import Hop as Hop
from topoopt.forwarding.server_tables import Route as Route
from topoopt.forwarding.server_tables import ServerTables as ServerTables
from topoopt.forwarding.server_tables import server_tables as server_tables
from topoopt.forwarding.tables import ForwardingTables as ForwardingTables
from topoopt.forwarding.tables import Split as Split
from topoopt.forwarding.tables import Ways as Ways
from topoopt.forwarding.weights import integer_weights as integer_weights
