"""How a model is split, and the traffic and memory that follow."""

from topoopt.workloads.strategy.data_parallel import data_parallel as data_parallel
from topoopt.workloads.strategy.extract import EdgeTransfers as EdgeTransfers
from topoopt.workloads.strategy.extract import WeightShard as WeightShard
from topoopt.workloads.strategy.extract import edge_transfers as edge_transfers
from topoopt.workloads.strategy.extract import extract_traffic as extract_traffic
from topoopt.workloads.strategy.extract import part_samples as part_samples
from topoopt.workloads.strategy.extract import weight_shards as weight_shards
from topoopt.workloads.strategy.memory import (
    OPTIMIZER_BYTES_PER_PARAMETER_BYTE as OPTIMIZER_BYTES_PER_PARAMETER_BYTE,
)
from topoopt.workloads.strategy.memory import MemoryUse as MemoryUse
from topoopt.workloads.strategy.memory import memory_use as memory_use
from topoopt.workloads.strategy.strategy import OperatorSplit as OperatorSplit
from topoopt.workloads.strategy.strategy import ParallelStrategy as ParallelStrategy
