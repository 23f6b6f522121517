"""The all-to-alls of a task graph: which task begins each, which ends it, and what it moves.

An all-to-all is a collective over several servers. One that is not uniform stands in the graph as a collective of one
server, which does nothing, then a transfer for each pair, then a barrier that waits for all of them.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, TRANSFER, TaskGraph


@dataclass(frozen=True, eq=False)
class Exchange:
    """One all-to-all.

    Attributes
    ----------
    begin, end : int
        Tasks; the same one where it is uniform.
    moves : int64 array
        Tasks whose bytes are those of the all-to-all.
    members : int64 array, shape (members,)
        Servers, sorted.
    demand_bytes : float64 array, shape (members, members)
    iteration : int
    """

    begin: int
    end: int
    moves: Ints
    members: Ints
    demand_bytes: Floats
    iteration: int


def find_exchanges(graph: TaskGraph) -> tuple[Exchange, ...]:
    """Return the all-to-alls that move something, in the order of their tasks."""
    exchanges = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == ALL_TO_ALL)).tolist():
        members = np.unique(np.array(graph.members(task), np.int64))
        if len(members) > 1:
            pair_bytes = int(graph.size_bytes[task]) // len(members)
            demand = np.full((len(members),) * 2, float(pair_bytes))
            np.fill_diagonal(demand, 0.0)
            row = Exchange(task, task, np.array([task]), members, demand, int(graph.iteration[task]))
            exchanges += [row] if pair_bytes else []
        else:
            exchanges += _of_transfers(graph, task)
    return tuple(exchanges)


def _of_transfers(graph: TaskGraph, begin: int) -> list[Exchange]:
    """Return the all-to-all that begins with a collective of one server, if one does."""
    after = _successors(graph, begin)
    after = after[graph.kind[after] == TRANSFER]
    barrier = (graph.src[after] == graph.dst[after]) & (graph.size_bytes[after] == 0)
    for end in after[barrier].tolist():
        moves = np.array(
            [one for one in after[~barrier].tolist() if end in _successors(graph, one)], np.int64
        )
        if len(moves) and graph.predecessors[end] == len(moves) + 1:
            src, dst = graph.src[moves], graph.dst[moves]
            members, place = np.unique(np.concatenate([src, dst]), return_inverse=True)
            demand = np.zeros((len(members),) * 2)
            np.add.at(demand, (place[: len(src)], place[len(src) :]), graph.size_bytes[moves])
            return [Exchange(begin, end, moves, members, demand, int(graph.iteration[begin]))]
    return []


def _successors(graph: TaskGraph, task: int) -> Ints:
    return graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]]
