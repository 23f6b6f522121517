"""How a collective is run as steps of transfers, and the law of one transfer."""

from topoopt.collectives.ring_law import RING_MODELS as RING_MODELS
from topoopt.collectives.ring_law import RING_ROUNDS_PER_NEIGHBOR as RING_ROUNDS_PER_NEIGHBOR
from topoopt.collectives.ring_law import ring_edge_bytes as ring_edge_bytes
from topoopt.collectives.ring_law import ring_occupancy_bytes as ring_occupancy_bytes
from topoopt.collectives.ring_law import ring_overhead as ring_overhead
from topoopt.collectives.ring_law import ring_rounds as ring_rounds
from topoopt.collectives.schedule import MakeSchedule as MakeSchedule
from topoopt.collectives.schedule import Schedule as Schedule
from topoopt.collectives.table import ALGORITHMS as ALGORITHMS
from topoopt.collectives.table import COLLECTIVE_NAMES as COLLECTIVE_NAMES
from topoopt.collectives.table import QUICKEST as QUICKEST
from topoopt.collectives.table import Algorithm as Algorithm
from topoopt.collectives.transfer_time import PACKET_BYTES as PACKET_BYTES
from topoopt.collectives.transfer_time import PathOverhead as PathOverhead
from topoopt.collectives.transfer_time import occupancy_bytes as occupancy_bytes
from topoopt.collectives.transfer_time import packets as packets
from topoopt.collectives.transfer_time import path_overhead as path_overhead
from topoopt.collectives.transfer_time import path_overheads as path_overheads
from topoopt.collectives.transfer_time import transfer_time_s as transfer_time_s
