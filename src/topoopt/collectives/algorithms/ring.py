"""Ring collectives and the law of their time: AllReduce as a reduce-scatter followed by an all-gather around one
ring."""

from topoopt.collectives.schedule import Algorithm, Schedule, Send, Step
from topoopt.collectives.transfer_time import PathOverhead, occupancy_bytes
from topoopt.workloads import bus_bandwidth_factor, ring_rounds

RING_MODELS = ("stepped", "bulk")
"""``stepped``: a barrier and a new connection per round. ``bulk``: one flow per edge for all rounds."""


def ring(ranks: int, name: str = "ring") -> Schedule:
    """Return the ring AllReduce: 2(n-1) steps of S/n bytes per rank."""
    # after the reduce-scatter below, rank r holds the sum of chunk r
    return Schedule(name, "allreduce", ranks, ranks, _steps_around(ranks, True) + _steps_around(ranks, False))


ALGORITHM = Algorithm(collective="allreduce", schedules=(ring,), order=10)


def reduce_scatter(ranks: int) -> Schedule:
    """Return the ring reduce-scatter: n-1 steps; rank r ends with the sum of chunk r."""
    return Schedule("reduce-scatter", "reduce-scatter", ranks, ranks, _steps_around(ranks, True))


def all_gather(ranks: int) -> Schedule:
    """Return the ring all-gather: n-1 steps; rank r starts with chunk r."""
    return Schedule("all-gather", "all-gather", ranks, ranks, _steps_around(ranks, False))


def _steps_around(ranks: int, reduces: bool) -> tuple[Step, ...]:
    """Return n-1 steps in which every rank forwards the last chunk received; sums start one chunk earlier."""
    earlier = int(reduces)
    return tuple(
        tuple(Send(r, (r + 1) % ranks, (r - step - earlier) % ranks, reduces) for r in range(ranks))
        for step in range(ranks - 1)
    )


def ring_edge_bytes(collective: str, members: int, size_bytes: int, rings: int) -> float:
    """Return the payload on one logical edge of one of ``rings`` equal rings: 2(k-1)/k · S / rings."""
    return bus_bandwidth_factor(collective, members) * size_bytes / rings


def ring_occupancy_bytes(collective: str, members: int, size_bytes: int, rings: int, model: str) -> float:
    """Return the bytes for which one ring holds each of its links.

    ``stepped`` sends floor(S / rings / k) bytes, in whole packets, in every round; ``bulk`` sends the sum
    of all rounds in one piece.
    """
    if model == "bulk":
        return ring_edge_bytes(collective, members, size_bytes, rings)
    chunk = size_bytes // (rings * members)
    return float(ring_rounds(collective, members) * int(occupancy_bytes(chunk)))


def ring_overhead(collective: str, members: int, slowest_edge: PathOverhead, model: str) -> PathOverhead:
    """Return the fixed overhead of one ring: that of its slowest edge, once per round when ``stepped``.

    The rounds between the first and the last are counted after, because their gaps lie inside the
    collective and leave the links to others.
    """
    repeats = ring_rounds(collective, members) if model == "stepped" else 1
    return PathOverhead(slowest_edge.before_s, repeats * slowest_edge.total_s - slowest_edge.before_s)
