"""The order of tasks that become ready together: first come, first served needs one, and any is as good.

Simulators serve equal times in order of task number. Other numbers for the same tasks are another order: of
transfers that begin at once, and of compute tasks that wait for one device.
"""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.csr import entries_of, pointer
from topoopt.simulation.task_graph import COLUMNS, TaskGraph


def start_order(tasks: int, seed: int) -> Ints:
    """Return the tasks in the order of a seed; seed 0 keeps that of their numbers, shape (tasks,)."""
    if seed == 0:
        return np.arange(tasks)
    return np.random.default_rng(seed).permutation(tasks)


def renumbered(graph: TaskGraph, order: Ints) -> TaskGraph:
    """Return the same graph with other numbers: its task ``i`` is task ``order[i]`` of the one given."""
    number = np.empty(len(graph), np.int64)
    number[order] = np.arange(len(graph))
    member, _ = entries_of(graph.member_first, order)
    edge, _ = entries_of(graph.successor_first, order)
    return replace(
        graph,
        member_first=pointer(np.diff(graph.member_first)[order]),
        member=graph.member[member],
        successor_first=pointer(np.diff(graph.successor_first)[order]),
        successor=number[graph.successor[edge]],
        predecessors=graph.predecessors[order],
        **{name: getattr(graph, name)[order] for name in COLUMNS},
    )
