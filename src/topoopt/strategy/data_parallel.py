"""The strategy every search starts from: data parallel everywhere, embedding tables round-robin."""

from topoopt.strategy.strategy import OperatorSplit, ParallelStrategy
from topoopt.workload import OperatorGraph


def data_parallel(graph: OperatorGraph, servers: int) -> ParallelStrategy:
    """Return the authors' starting point: replicas on all servers, table t on server t·n/tables, wrapped.

    With fewer tables than servers the tables are spread evenly over them, with more they go round.
    """
    tables = sum(op.is_embedding for op in graph.operators)
    splits, placed = [], 0
    for op in graph.operators:
        if op.is_embedding:
            server = placed * servers // tables if tables < servers else placed % servers
            splits.append(OperatorSplit(1, server))
            placed += 1
        else:
            splits.append(OperatorSplit(servers if "batch" in op.splits else 1))
    return ParallelStrategy(servers, tuple(splits))
