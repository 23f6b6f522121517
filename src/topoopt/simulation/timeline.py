"""The timeline of a simulation: when each server computed and communicated for which operator."""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.csr import owners
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COMPUTE, PHASES, TRANSFER, TaskGraph


class TimelineRow(NamedTuple):
    """One bar: everything a server did for one operator and phase, from the first start to the last end."""

    server: int
    operator: str
    phase: str
    iteration: int
    start_s: float
    finish_s: float


def timeline(result: SimResult, server: int | None = None) -> list[TimelineRow]:
    """Return the bars of one server or of all, by server and start.

    Transfers count for the server that sends, collectives for every member.
    """
    graph = result.graph
    task, place = places(graph)
    if server is not None:
        task, place = task[place == server], place[place == server]
    keys = np.stack([place, graph.operator[task], graph.phase[task], graph.iteration[task]], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    start = np.full(len(groups), np.inf)
    finish = np.zeros(len(groups))
    np.minimum.at(start, inverse, result.start_s[task])
    np.maximum.at(finish, inverse, result.finish_s[task])
    names = (*graph.operator_names, "")  # -1 is the last, empty one
    rows = [
        TimelineRow(where, names[operator], PHASES[phase], iteration, begin, end)
        for (where, operator, phase, iteration), begin, end in zip(
            groups.tolist(), start.tolist(), finish.tolist(), strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.server, row.start_s, row.finish_s))


def places(graph: TaskGraph) -> tuple[Ints, Ints]:
    """Return task and server of everything that a server has a part in."""
    compute = np.flatnonzero(graph.kind == COMPUTE)
    transfer = np.flatnonzero(graph.kind == TRANSFER)
    task = np.concatenate([compute, transfer, owners(graph.member_first)])
    return task, np.concatenate([graph.server[compute], graph.src[transfer], graph.member])
