"""Fewer tasks for the same iteration: servers that do the same at the same time are one.

In a data-parallel job sixteen servers run the same layers side by side, and what they send each other begins
together. Such tasks form a *step*. Steps are the coarsest partition of the tasks in which all tasks of a step do the
same, wait for the same steps, are waited for by the same steps, and stand alike in the queues of their devices (color
refinement). As long as transfers of a step end together, which is when the slowest does, nothing is lost.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints, Words
from topoopt.simulation import TaskGraph, compute_finish_s


@dataclass(frozen=True, eq=False)
class Lockstep:
    """The steps of an iteration, in the order of their first tasks.

    Attributes
    ----------
    step : int64 array, shape (tasks,)
        Step of each task of the graph.
    first_task : int64 array, shape (steps,)
        The task that stands for each step.
    device : int64 array, shape (steps,)
        Devices of equal load are one, numbered from 0; -1 for communication.
    duration_s : float64 array, shape (steps,)
    before, after : int64 arrays, shape (edges,)
        Step ``after[i]`` waits for ``before[i]``; every pair once, sorted.
    free_finish_s : float64 array, shape (steps,)
        When a step is done if communication is free.
    """

    step: Ints
    first_task: Ints
    device: Ints
    duration_s: Floats
    before: Ints
    after: Ints
    free_finish_s: Floats

    def __len__(self) -> int:
        return len(self.first_task)

    @cached_property
    def computes_without_waiting(self) -> bool:
        """Whether no computation waits for communication, directly or not."""
        waits = self.device < 0
        while True:
            reached = waits.copy()
            reached[self.after[waits[self.before]]] = True
            if (reached == waits).all():
                return not reached[self.device >= 0].any()
            waits = reached


def lockstep(graph: TaskGraph) -> Lockstep:
    """Return the steps of a task graph."""
    finish_s = compute_finish_s(graph)
    color, device_color = _refined(graph, finish_s)
    _, first_task, step = np.unique(color, return_index=True, return_inverse=True)
    order = np.argsort(first_task)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    step, first_task = number[step], first_task[order]
    source = np.repeat(step, np.diff(graph.successor_first))
    before, after = np.divmod(np.unique(source * len(order) + step[graph.successor]), len(order))
    computes = graph.device[first_task] >= 0
    device = np.full(len(order), -1, np.int64)
    device[computes] = np.unique(device_color[graph.device[first_task[computes]]], return_inverse=True)[1]
    return Lockstep(
        step, first_task, device, graph.duration_s[first_task], before, after, finish_s[first_task]
    )


def _refined(graph: TaskGraph, finish_s: Floats) -> tuple[Ints, Words]:
    """Return the color of each task and of each device once colors tell no two more of them apart."""
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    computes = np.flatnonzero(graph.device >= 0)
    words = np.random.default_rng(0).integers(0, 2**64, (3, len(graph)), np.uint64)
    columns = (
        graph.kind,
        graph.duration_s.view(np.int64),
        graph.size_bytes,
        graph.collective,
        np.diff(graph.member_first),
        finish_s.view(np.int64),
    )
    color = _numbered(*columns)
    while True:
        rank = _rank_on_device(graph.device, color)
        signs = words[:, color]
        in_queue = _summed(graph.device[computes], signs[0, computes], graph.devices)
        own_queue = np.zeros(len(graph), np.uint64)
        own_queue[computes] = in_queue[graph.device[computes]]
        follow = _summed(source, signs[1, graph.successor], len(graph))
        lead = _summed(graph.successor, signs[2, source], len(graph))
        finer = _numbered(color, rank, own_queue, follow, lead)
        if finer.max(initial=0) == color.max(initial=0):
            return color, in_queue
        color = finer


def _numbered(*columns: Ints | Words) -> Ints:
    """Return equal numbers for equal rows."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        value = np.unique(column, return_inverse=True)[1]
        number = np.unique(number * (int(value.max(initial=0)) + 1) + value, return_inverse=True)[1]
    return number.astype(np.int64)


def _summed(index: Ints, value: Words, size: int) -> Words:
    """Return the sum of the values of each index, modulo 2**64: equal multisets have equal sums."""
    total = np.zeros(size, np.uint64)
    np.add.at(total, index, value)
    return total


def _rank_on_device(device: Ints, color: Ints) -> Ints:
    """Return the place of each compute task among those of its device and color, by task number; 0 otherwise."""
    order = np.lexsort((color, device))
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(device[order]) != 0) | (np.diff(color[order]) != 0)
    place = np.arange(len(order))
    rank = np.zeros(len(order), np.int64)
    rank[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return np.where(device < 0, 0, rank)
