"""When each task can start at the earliest, in whatever order the devices take up their work.

A simulation with free communication does not tell. Devices work first come, first served, so a transfer that comes
late may let a task go first that others wait for: more communication, and an earlier end of an AllReduce. What holds
in every order is that a task waits for the longest chain of tasks before it, and for all the work that is before it
on its own device, which does one thing after the other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.simulate import COMPUTE, TaskGraph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_SETS_BYTES = 256_000_000
"""Memory for the sets of tasks before each task; where they do not fit, only chains count."""


@dataclass(frozen=True, eq=False)
class Earliest:
    """Earliest start of every task, shape (tasks,), and the least time of all, with free communication."""

    start_s: Floats
    least_time_s: float


def earliest(graph: TaskGraph) -> Earliest:
    """Return when each task can start at the earliest, and the whole graph end."""
    computes = graph.kind == COMPUTE
    work_s = np.where(computes, graph.duration_s, 0.0)
    start_s, sets = np.zeros(len(graph)), _LocalSets(graph, work_s)
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    order = np.argsort(graph.successor, kind="stable")
    first, predecessor = np.searchsorted(graph.successor[order], np.arange(len(graph) + 1)), source[order]
    waiting = graph.predecessors.copy()
    ready = np.flatnonzero(waiting == 0)
    while len(ready):
        waits = ready[graph.predecessors[ready] > 0]
        if len(waits):
            rows, starts = _rows(first, waits)
            before = predecessor[rows]
            chains_s = np.maximum.reduceat(start_s[before] + work_s[before], starts)
            start_s[waits] = np.maximum(chains_s, sets.work_before_s(waits, before, starts))
        after, done = np.unique(graph.successor[_rows(graph.successor_first, ready)[0]], return_counts=True)
        waiting[after] -= done
        ready = after[waiting[after] == 0]
    idle_s, load_s = np.full(graph.devices, np.inf), np.zeros(graph.devices)
    np.minimum.at(idle_s, graph.device[computes], start_s[computes])
    np.add.at(load_s, graph.device[computes], work_s[computes])
    ends_s = [start_s + work_s, (idle_s + load_s)[load_s > 0]]
    return Earliest(start_s, float(np.concatenate(ends_s).max(initial=0.0)))


class _LocalSets:
    """For every compute task the tasks of its own device that come before it, itself included."""

    def __init__(self, graph: TaskGraph, work_s: Floats) -> None:
        computes = np.flatnonzero(graph.kind == COMPUTE)
        by_device = computes[np.argsort(graph.device[computes], kind="stable")]
        count = np.bincount(graph.device[computes], minlength=graph.devices)
        most = int(count.max(initial=0))
        self.fit = len(graph) * most <= LARGEST_SETS_BYTES
        self.device = graph.device
        self.place = np.zeros(len(graph), np.int64)  # of a task among those of its device
        self.place[by_device] = np.arange(len(by_device)) - np.repeat(np.cumsum(count) - count, count)
        self.work_s = np.zeros((graph.devices, most))
        self.work_s[graph.device[computes], self.place[computes]] = work_s[computes]
        self.held = np.zeros((len(graph), most) if self.fit else (0, 0), np.bool_)
        if self.fit:
            self.held[computes, self.place[computes]] = True

    def work_before_s(self, task: Ints, before: Ints, starts: Ints) -> Floats:
        """Return the work before each task on its device; ``before`` are the tasks that each waits for, by rows."""
        if not self.fit:
            return np.zeros(len(task))
        computes = self.device[task] >= 0
        count = np.diff([*starts, len(before)])
        here = np.repeat(self.device[task], count) == self.device[before]
        sets = np.logical_or.reduceat(self.held[before] & here[:, None], starts, axis=0)
        work_s = np.einsum("ij,ij->i", sets, self.work_s[self.device[task]])
        self.held[task[computes]] |= sets[computes]
        return np.where(computes, work_s, 0.0)


def _rows(first: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Return the CSR entries of some rows, one row after the other, and where each begins."""
    count = first[of + 1] - first[of]
    starts = np.cumsum(count) - count
    return np.repeat(first[of] - starts, count) + np.arange(count.sum()), starts
