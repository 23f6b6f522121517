"""The timeline of a simulation: when each server computed and communicated for which operator."""

from typing import NamedTuple

import numpy as np

from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import COLLECTIVE, COMPUTE, PHASES, TRANSFER, Ints


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
    task, place = _places(result)
    if server is not None:
        task, place = task[place == server], place[place == server]
    keys = np.stack([place, graph.operator[task], graph.phase[task], graph.iteration[task]], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    start = np.full(len(groups), np.inf)
    finish = np.zeros(len(groups))
    np.minimum.at(start, inverse, result.start_s[task])
    np.maximum.at(finish, inverse, result.finish_s[task])
    rows = [
        TimelineRow(where, _operator(result, operator), PHASES[phase], iteration, begin, end)
        for (where, operator, phase, iteration), begin, end in zip(
            groups.tolist(), start.tolist(), finish.tolist(), strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.server, row.start_s, row.finish_s))


def _places(result: SimResult) -> tuple[Ints, Ints]:
    """Return task and server of everything that a server has a part in."""
    graph = result.graph
    compute = np.flatnonzero(graph.kind == COMPUTE)
    transfer = np.flatnonzero(graph.kind == TRANSFER)
    collective = np.flatnonzero(graph.kind == COLLECTIVE)
    members = np.diff(graph.member_first)[collective]
    task = np.concatenate([compute, transfer, np.repeat(collective, members)])
    return task, np.concatenate([graph.server[compute], graph.src[transfer], graph.member])


def _operator(result: SimResult, operator: int) -> str:
    return result.graph.operator_names[operator] if operator >= 0 else ""
