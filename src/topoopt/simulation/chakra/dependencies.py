"""Which node waits for which in the trace of each rank, where a task graph has edges between tasks.

A task has a node in the trace of every rank that it concerns: its server, both ends of a transfer, the members of a
collective. An edge becomes a dependency wherever both of its tasks have a node; a transfer waits where it is sent.
"""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible
from topoopt.simulation.csr import owners
from topoopt.simulation.task_graph import COLLECTIVE, COMPUTE, TaskGraph, distinct


def dependencies(graph: TaskGraph) -> tuple[Ints, Ints, Ints]:
    """Return rank, task and the task that it waits for there, in this order.

    Raises
    ------
    Infeasible
        If a task waits for one of other servers: without a message nobody would know of it.
    """
    tasks = len(graph)
    before, after = graph.waited_for.astype(np.int64), graph.successor.astype(np.int64)
    edge = np.arange(len(before))
    kind = graph.kind
    home = np.where(kind == COMPUTE, graph.server, graph.src).astype(
        np.int64
    )  # where one that is no collective waits
    inside = _Members(graph)
    rows = []
    alone = kind[after] != COLLECTIVE
    for ends in (home, graph.dst.astype(np.int64)):  # of the task that is waited for
        several = kind[before] == COLLECTIVE
        at = home[after]
        known = np.where(several, inside.has(before, at), ends[before] == at)
        rows.append(_rows(edge, at, alone & known))
        at = ends[before]
        rows.append(_rows(edge, at, ~alone & ~several & (at >= 0) & inside.has(after, at)))
    both = np.flatnonzero(~alone & (kind[before] == COLLECTIVE))
    at, which = inside.of(before[both])
    known = inside.has(after[both[which]], at)
    rows.append((both[which][known], at[known]))
    edges, ranks = (np.concatenate(column) for column in zip(*rows, strict=True))
    unknown = np.setdiff1d(edge, edges)
    if len(unknown):
        first = int(unknown[0])
        raise Infeasible(
            f"chakra: {graph.name(int(after[first]))} waits for {graph.name(int(before[first]))}, which no rank "
            "sees both of; there are traces of such a plan with no format"
        )
    keys = distinct((ranks * tasks + after[edges]) * tasks + before[edges])
    keys, waited_for = np.divmod(keys, max(tasks, 1))
    return *np.divmod(keys, max(tasks, 1)), waited_for


def _rows(edge: Ints, at: Ints, chosen: np.ndarray) -> tuple[Ints, Ints]:
    return edge[chosen], at[chosen]


class _Members:
    """Who is in which collective."""

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self.keys = distinct(owners(graph.member_first) * graph.servers + graph.member)

    def has(self, task: Ints, rank: Ints) -> np.ndarray:
        """Return whether each of these tasks is a collective with this member."""
        key = task * self.graph.servers + rank
        place = np.searchsorted(self.keys, key)
        found = np.zeros(len(key), np.bool_)
        inside = place < len(self.keys)
        found[inside] = self.keys[place[inside]] == key[inside]
        return found & (rank >= 0)

    def of(self, tasks: Ints) -> tuple[Ints, Ints]:
        """Return the members of each of these collectives, and the place of the collective in the list."""
        first, count = self.graph.member_first[tasks], np.diff(self.graph.member_first)[tasks]
        which = np.repeat(np.arange(len(tasks)), count)
        inner = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        return self.graph.member[first[which] + inner].astype(np.int64), which
