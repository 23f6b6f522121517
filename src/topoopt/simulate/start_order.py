"""The order of tasks that become ready together: first come, first served needs one, and any is as good.

Simulators serve equal times in order of task number. Other numbers for the same tasks are another order: of
transfers that begin at once, and of compute tasks that wait for one device.
"""

from dataclasses import replace

import numpy as np

from topoopt.simulate.task_graph import Ints, TaskGraph

BY_TASK = (
    "kind",
    "server",
    "duration_s",
    "src",
    "dst",
    "size_bytes",
    "collective",
    "predecessors",
    "operator",
    "phase",
    "iteration",
    "accelerator",
)
"""Columns of a task graph with one entry for each task."""


def start_order(tasks: int, seed: int) -> Ints:
    """Return the tasks in the order of a seed; seed 0 keeps that of their numbers, shape (tasks,)."""
    if seed == 0:
        return np.arange(tasks)
    return np.random.default_rng(seed).permutation(tasks)


def renumbered(graph: TaskGraph, order: Ints) -> TaskGraph:
    """Return the same graph with other numbers: its task ``i`` is task ``order[i]`` of the one given."""
    number = np.empty(len(graph), np.int64)
    number[order] = np.arange(len(graph))
    member_first, member = _rows(graph.member_first, graph.member, order)
    successor_first, successor = _rows(graph.successor_first, number[graph.successor], order)
    columns = {name: getattr(graph, name)[order] for name in BY_TASK}
    return replace(
        graph,
        member_first=member_first,
        member=member,
        successor_first=successor_first,
        successor=successor,
        **columns,
    )


def _rows(first: Ints, entry: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Return the rows of a table in another order."""
    size = np.diff(first)[order]
    begin = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    place = np.repeat(first[order] - begin[:-1], size) + np.arange(begin[-1])
    return begin, entry[place]
