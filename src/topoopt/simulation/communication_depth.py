"""How many communications at most wait for each other in a task graph."""

import numpy as np

from topoopt.simulation.csr import entries_of
from topoopt.simulation.task_graph import COMPUTE, TaskGraph


def communication_depth(graph: TaskGraph, enough: int) -> int:
    """Return the most communication tasks on any chain of dependencies, or ``enough`` if there are as many."""
    own = ((graph.kind != COMPUTE) & (graph.size_bytes > 0)).astype(np.int64)
    depth, waiting = own.copy(), graph.predecessors.copy()
    ready = np.flatnonzero(waiting == 0)
    deepest = 0
    while len(ready) and deepest < enough:
        deepest = max(deepest, int(depth[ready].max()))
        entry, row = entries_of(graph.successor_first, ready)
        after = graph.successor[entry]
        np.maximum.at(depth, after, depth[ready][row] + own[after])
        np.subtract.at(waiting, after, 1)
        ready = np.unique(after[waiting[after] == 0])
    return min(deepest, enough)
