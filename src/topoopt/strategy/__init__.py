"""How a model is split, and the traffic and memory that follow."""

from topoopt.strategy.strategy import OperatorSplit as OperatorSplit
from topoopt.strategy.strategy import ParallelStrategy as ParallelStrategy
