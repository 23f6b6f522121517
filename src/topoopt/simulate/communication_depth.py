"""How many communications at most wait for each other in a task graph."""

import numpy as np

from topoopt.simulate.task_graph import COMPUTE, Ints, TaskGraph


def communication_depth(graph: TaskGraph, enough: int) -> int:
    """Return the most communication tasks on any chain of dependencies, or ``enough`` if there are as many."""
    own = ((graph.kind != COMPUTE) & (graph.size_bytes > 0)).astype(np.int64)
    depth, waiting = own.copy(), graph.predecessors.copy()
    ready = np.flatnonzero(waiting == 0)
    deepest = 0
    while len(ready) and deepest < enough:
        deepest = max(deepest, int(depth[ready].max()))
        count = graph.successor_first[ready + 1] - graph.successor_first[ready]
        after = graph.successor[_entries(graph.successor_first[ready], count)]
        np.maximum.at(depth, after, np.repeat(depth[ready], count) + own[after])
        np.subtract.at(waiting, after, 1)
        ready = np.unique(after[waiting[after] == 0])
    return min(deepest, enough)


def _entries(first: Ints, count: Ints) -> Ints:
    """Return ``first[k] … first[k] + count[k] - 1`` of every row k, one row after the other."""
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
