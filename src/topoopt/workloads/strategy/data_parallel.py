"""The strategy every search starts from: data parallel everywhere, embedding tables round-robin."""

from topoopt.workloads.graph import OperatorGraph
from topoopt.workloads.strategy.strategy import OperatorSplit, ParallelStrategy


def data_parallel(graph: OperatorGraph, servers: int) -> ParallelStrategy:
    """Return the authors' starting point: replicas on all servers, table t on server t mod n."""
    splits, placed = [], 0
    for op in graph.operators:
        if op.is_embedding:
            splits.append(OperatorSplit(1, placed % servers))
            placed += 1
        else:
            splits.append(OperatorSplit(servers if "batch" in op.splits else 1))
    return ParallelStrategy(servers, tuple(splits))
