"""Collectives as steps of transfers, and the cost model of one transfer."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.collectives.algorithms.bfb import broadcast_schedule as broadcast_schedule
    from topoopt.collectives.algorithms.bfb import broadcast_transfers as broadcast_transfers
    from topoopt.collectives.algorithms.ring import RING_MODELS as RING_MODELS
    from topoopt.collectives.algorithms.ring import all_gather as all_gather
    from topoopt.collectives.algorithms.ring import reduce_scatter as reduce_scatter
    from topoopt.collectives.algorithms.ring import ring as ring
    from topoopt.collectives.algorithms.ring import ring_edge_bytes as ring_edge_bytes
    from topoopt.collectives.algorithms.ring import ring_occupancy_bytes as ring_occupancy_bytes
    from topoopt.collectives.algorithms.ring import ring_overhead as ring_overhead
    from topoopt.collectives.msccl import msccl_xml as msccl_xml
    from topoopt.collectives.msccl import rings_xml as rings_xml
    from topoopt.collectives.schedule import MOST_RANKS as MOST_RANKS
    from topoopt.collectives.schedule import Algorithm as Algorithm
    from topoopt.collectives.schedule import MakeSchedule as MakeSchedule
    from topoopt.collectives.schedule import Moves as Moves
    from topoopt.collectives.schedule import Schedule as Schedule
    from topoopt.collectives.schedule import Transfers as Transfers
    from topoopt.collectives.schedule import along as along
    from topoopt.collectives.schedule import along_orders as along_orders
    from topoopt.collectives.schedule import one_after_the_other as one_after_the_other
    from topoopt.collectives.schedule import pipelined as pipelined
    from topoopt.collectives.schedule import transfers_of as transfers_of
    from topoopt.collectives.schedule_simulator import MscclRun as MscclRun
    from topoopt.collectives.schedule_simulator import PlayedSchedule as PlayedSchedule
    from topoopt.collectives.schedule_simulator import play as play
    from topoopt.collectives.schedule_simulator import run_msccl as run_msccl
    from topoopt.collectives.table import ALGORITHMS as ALGORITHMS
    from topoopt.collectives.table import COLLECTIVE_ALIASES as COLLECTIVE_ALIASES
    from topoopt.collectives.table import COLLECTIVE_NAMES as COLLECTIVE_NAMES
    from topoopt.collectives.table import ON_WIRINGS as ON_WIRINGS
    from topoopt.collectives.table import QUICK_ON_WIRINGS as QUICK_ON_WIRINGS
    from topoopt.collectives.table import QUICKEST as QUICKEST
    from topoopt.collectives.table import RING as RING
    from topoopt.collectives.table import collective_name as collective_name
    from topoopt.collectives.table import moves_on_links as moves_on_links
    from topoopt.collectives.table import rank_moves as rank_moves
    from topoopt.collectives.transfer_time import PACKET_BYTES as PACKET_BYTES
    from topoopt.collectives.transfer_time import PathOverhead as PathOverhead
    from topoopt.collectives.transfer_time import occupancy_bytes as occupancy_bytes
    from topoopt.collectives.transfer_time import packets as packets
    from topoopt.collectives.transfer_time import path_overhead as path_overhead
    from topoopt.collectives.transfer_time import path_overheads as path_overheads
    from topoopt.collectives.transfer_time import transfer_time_s as transfer_time_s

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
