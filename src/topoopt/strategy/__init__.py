"""How a model is split, and the traffic and memory that follow."""

from topoopt.strategy.data_parallel import data_parallel as data_parallel
from topoopt.strategy.extract import EdgeTransfers as EdgeTransfers
from topoopt.strategy.extract import WeightShard as WeightShard
from topoopt.strategy.extract import edge_transfers as edge_transfers
from topoopt.strategy.extract import extract_traffic as extract_traffic
from topoopt.strategy.extract import part_samples as part_samples
from topoopt.strategy.extract import weight_shards as weight_shards
from topoopt.strategy.memory import OPTIMIZER_BYTES_PER_PARAMETER_BYTE as OPTIMIZER_BYTES_PER_PARAMETER_BYTE
from topoopt.strategy.memory import MemoryUse as MemoryUse
from topoopt.strategy.memory import memory_use as memory_use
from topoopt.strategy.strategy import OperatorSplit as OperatorSplit
from topoopt.strategy.strategy import ParallelStrategy as ParallelStrategy
