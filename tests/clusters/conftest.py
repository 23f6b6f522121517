"""Fabrics made by hand, so that the course of a cluster can be followed with pencil and paper."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from topoopt.clusters import CourseFabric, IterationTimes, PlacedJob
from topoopt.clusters.job_shape import JobShape
from topoopt.clusters.pace import JobPlan
from topoopt.clusters.shards import Switching
from topoopt.simulation import COMPUTE, TaskRows, task_graph_from_edges
from topoopt.topologies import circulant

LOOK_AHEAD = Switching("patch-panel", planes=2, move_s=1.0, hands=1, change_s=0.5, elastic=False)
ONE_PLANE = Switching("patch-panel", planes=1, move_s=1.0, hands=1, change_s=0.0, elastic=False)
OCS = Switching("piezo", planes=1, move_s=0.0, hands=1, change_s=0.5, elastic=True)

ByHand = Callable[..., CourseFabric]


def by_hand(
    switching: Switching | None = None,
    seconds: Callable[[int], float] = lambda servers: 1.0,
    slowdown: Callable[[int], float] = lambda running: 1.0,
    strides: Callable[[JobShape], Sequence[int]] = lambda shape: [1],
) -> CourseFabric:
    """A fabric of degree 2: iterations take ``seconds`` of the size, times ``slowdown`` of how many jobs run."""

    @cache
    def plan(shape: JobShape) -> JobPlan:
        nothing = np.zeros(0, np.int64)
        work = TaskRows(COMPUTE, 1, server=0, duration_s=seconds(shape.servers))
        graph = task_graph_from_edges(shape.servers, [work], nothing, nothing)
        time_s = seconds(shape.servers)
        topology = circulant(shape.servers, list(strides(shape)), 100e9)
        return JobPlan(graph, IterationTimes(time_s, (time_s,)), topology)

    def pace(running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        times = [seconds(len(placed.servers)) * slowdown(len(running)) for placed in running]
        return tuple(IterationTimes(time_s, (time_s,)) for time_s in times)

    return CourseFabric("by hand", "", 200e9, plan, pace, () if switching is None else (switching,))


@pytest.fixture(name="by_hand")
def by_hand_fixture() -> ByHand:
    return by_hand
