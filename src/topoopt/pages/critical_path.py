"""Where the time of an iteration goes: the chain of tasks that each waited for the one before.

The chain ends with the task that is done last. Its parts follow each other without a hole, so their lengths sum to the
iteration time, whatever overlaps with them.
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation import COMPUTE, PHASES, SimResult

WAITING = "waiting"


class PathStep(NamedTuple):
    """A task of the chain, and how long the iteration stood with it. ``task`` is -1 where nothing ran."""

    task: int
    phase: str
    start_s: float
    finish_s: float


def critical_path(result: SimResult) -> list[PathStep]:
    """Return the chain that decides when the last task is done, in order of time.

    A task waits for its predecessors, and a computation for the accelerator, too. Communication counts from when
    it is ready, so the time that it waits for links is its own.
    """
    graph = result.graph
    if not len(graph):
        return []
    first, before = _predecessors(result)
    on_device = _previous_on_device(result)
    steps: list[PathStep] = []
    task = int(np.argmax(result.finish_s))
    end_s = float(result.finish_s[task])
    while task >= 0:
        start_s = min(float(result.start_s[task]), end_s)
        steps.append(PathStep(task, PHASES[graph.phase[task]], start_s, end_s))
        candidates = before[first[task] : first[task + 1]].tolist()
        if graph.kind[task] == COMPUTE and on_device[task] >= 0:
            candidates.append(int(on_device[task]))
        task = max(candidates, key=lambda one: (result.finish_s[one], -one), default=-1)
        end_s = min(float(result.finish_s[task]), start_s) if task >= 0 else 0.0
        if start_s > end_s:
            steps.append(PathStep(-1, WAITING, end_s, start_s))
    return steps[::-1]


def time_by_phase(steps: list[PathStep]) -> dict[str, float]:
    """Return the seconds of each phase of a chain, in the order of :data:`topoopt.simulation.PHASES`."""
    seconds = dict.fromkeys((*PHASES, WAITING), 0.0)
    for step in steps:
        seconds[step.phase] += step.finish_s - step.start_s
    return {phase: time_s for phase, time_s in seconds.items() if time_s > 0}


def _predecessors(result: SimResult) -> tuple[Ints, Ints]:
    """Return CSR pointer and predecessors of every task."""
    graph = result.graph
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    order = np.argsort(graph.successor, kind="stable")
    first = np.searchsorted(graph.successor[order], np.arange(len(graph) + 1))
    return first.astype(np.int64), source[order]


def _previous_on_device(result: SimResult) -> Ints:
    """Return the task that had the accelerator before each computation, -1 for none."""
    graph = result.graph
    compute = np.flatnonzero(graph.kind == COMPUTE)
    order = compute[np.lexsort((result.finish_s[compute], result.start_s[compute], graph.device[compute]))]
    previous = np.full(len(graph), -1, np.int64)
    alike = graph.device[order[1:]] == graph.device[order[:-1]]
    previous[order[1:][alike]] = order[:-1][alike]
    return previous
