"""Closed-form α-β times of the collectives, and the factor from algorithm to bus bandwidth.

``n`` ranks, buffer S of one rank, α seconds per step, bandwidth B of one rank in each direction.

References
----------
.. [1] R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
   MPICH", IJHPCA 19 (2005).
.. [2] NVIDIA nccl-tests, doc/PERFORMANCE.md (bus bandwidth).
"""

import math
from collections.abc import Callable, Mapping

from topoopt.errors import unknown_name

ClosedForm = Callable[[int, float, float, float], float]
"""(ranks, size_bytes, latency_s, bandwidth_bps) -> seconds."""


def _form(steps: Callable[[int], float], buffers: Callable[[int], float]) -> ClosedForm:
    def time_s(ranks: int, size_bytes: float, latency_s: float, bandwidth_bps: float) -> float:
        return steps(ranks) * latency_s + buffers(ranks) * size_bytes * 8.0 / bandwidth_bps

    return time_s


CLOSED_FORMS: Mapping[str, ClosedForm] = {
    "ring": _form(lambda n: 2 * (n - 1), lambda n: 2 * (n - 1) / n),
    "reduce-scatter": _form(lambda n: n - 1, lambda n: (n - 1) / n),
    "all-gather": _form(lambda n: n - 1, lambda n: (n - 1) / n),
    "double-binary-tree": _form(lambda n: 2 * math.log2(n), lambda n: 2),
    "halving-doubling": _form(lambda n: 2 * math.log2(n), lambda n: 2 * (n - 1) / n),
    "all-to-all": _form(lambda n: n - 1, lambda n: (n - 1) / n),
    "parameter-server": _form(lambda n: 2, lambda n: 2 * (n - 1)),
}
"""Textbook times by the names of :data:`SCHEDULES`; a double binary tree is fully pipelined here."""


def closed_form_time_s(
    name: str, ranks: int, size_bytes: float, latency_s: float, bandwidth_bps: float
) -> float:
    """Return the seconds of one collective.

    Examples
    --------
    >>> closed_form_time_s("ring", 4, 100e9 / 8, 0.5, 100e9)
    4.5
    """
    if name not in CLOSED_FORMS:
        raise unknown_name("collective", name, CLOSED_FORMS)
    return CLOSED_FORMS[name](ranks, size_bytes, latency_s, bandwidth_bps)


def hierarchical_time_s(
    group: int,
    groups: int,
    size_bytes: float,
    inside: tuple[float, float],
    between: tuple[float, float],
) -> float:
    """Return the time of reduce-scatter inside, AllReduce of S/group between, all-gather inside.

    ``inside`` and ``between`` are (latency_s, bandwidth_bps) of the two levels.
    """
    scatter_s = closed_form_time_s("reduce-scatter", group, size_bytes, *inside)
    ring_s = closed_form_time_s("ring", groups, size_bytes / group, *between)
    gather_s = closed_form_time_s("all-gather", group, size_bytes, *inside)
    return scatter_s + ring_s + gather_s


def bus_bandwidth_factor(collective: str, ranks: int) -> float:
    """Return busbw ÷ algbw: 2(n-1)/n for AllReduce, (n-1)/n for its halves and all-to-all, 1 for broadcast.

    Examples
    --------
    >>> bus_bandwidth_factor("allreduce", 8), bus_bandwidth_factor("broadcast", 8)
    (1.75, 1.0)
    """
    share = (ranks - 1) / ranks
    factors = {
        "allreduce": 2 * share,
        "reduce-scatter": share,
        "all-gather": share,
        "all-to-all": share,
        "broadcast": 1.0,
    }
    if collective not in factors:
        raise unknown_name("collective", collective, factors)
    return factors[collective]
