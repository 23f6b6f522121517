"""Many jobs over time, on shards of one machine room or sharing one fabric."""

from topoopt.cluster.pace import IterationTimes as IterationTimes
from topoopt.cluster.pace import Pace as Pace
from topoopt.cluster.pace import PlacedJob as PlacedJob
from topoopt.cluster.result import ClusterResult as ClusterResult
from topoopt.cluster.result import Distribution as Distribution
from topoopt.cluster.result import FabricRun as FabricRun
from topoopt.cluster.result import JobRecord as JobRecord
from topoopt.cluster.result_file import read_cluster_result as read_cluster_result
from topoopt.cluster.result_file import result_from_mapping as result_from_mapping
from topoopt.cluster.result_file import result_to_mapping as result_to_mapping
from topoopt.cluster.result_file import write_cluster_result as write_cluster_result
