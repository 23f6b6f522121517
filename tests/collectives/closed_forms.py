"""Closed-form α-β times of the collectives, as the textbooks have them: oracles for schedules and simulators.

``n`` ranks, buffer S of one rank, α seconds per step, bandwidth B of one rank in each direction. R. Thakur,
R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping

from topoopt.collectives import Schedule

STEPS_AND_BUFFERS: Mapping[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "ring": (lambda n: 2 * (n - 1), lambda n: 2 * (n - 1) / n),
    "reduce-scatter": (lambda n: n - 1, lambda n: (n - 1) / n),
    "all-gather": (lambda n: n - 1, lambda n: (n - 1) / n),
    "tree": (lambda n: 2 * math.log2(n), lambda n: 2),  # fully pipelined
    "halving-doubling": (lambda n: 2 * math.log2(n), lambda n: 2 * (n - 1) / n),
    "pairwise": (lambda n: n - 1, lambda n: (n - 1) / n),
    "parameter-server": (lambda n: 2, lambda n: 2 * (n - 1)),
}


def closed_form_time_s(
    name: str, ranks: int, size_bytes: float, latency_s: float, bandwidth_bps: float
) -> float:
    steps, buffers = STEPS_AND_BUFFERS[name]
    return steps(ranks) * latency_s + buffers(ranks) * size_bytes * 8.0 / bandwidth_bps


def hierarchical_time_s(
    group: int, groups: int, size_bytes: float, latency_s: float, bandwidth_bps: float
) -> float:
    """Reduce-scatter inside groups, AllReduce of S/group between them, all-gather inside."""
    level = latency_s, bandwidth_bps
    halves_s = [
        closed_form_time_s(name, group, size_bytes, *level) for name in ("reduce-scatter", "all-gather")
    ]
    return sum(halves_s) + closed_form_time_s("ring", groups, size_bytes / group, *level)


def schedule_time_s(schedule: Schedule, size_bytes: float, latency_s: float, bandwidth_bps: float) -> float:
    """Each step costs α plus the busiest rank's bytes in or out over the bandwidth."""
    chunks = 0
    for step in schedule.steps:
        sent = Counter(send.src for send in step)
        received = Counter(send.dst for send in step)
        chunks += max(*sent.values(), *received.values())
    moved_bytes = chunks * size_bytes / schedule.pieces
    return len(schedule.steps) * latency_s + moved_bytes * 8.0 / bandwidth_bps
