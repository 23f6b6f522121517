"""The law of a ring collective: rounds with a barrier between them, each one transfer per member."""

from topoopt.base.errors import check_known
from topoopt.collectives.transfer_time import PathOverhead, occupancy_bytes

RING_ROUNDS_PER_NEIGHBOR = {"allreduce": 2, "reduce-scatter": 1, "all-gather": 1}
"""A ring of k members runs this many times k-1 rounds."""

RING_MODELS = ("stepped", "bulk")
"""``stepped``: a barrier and a new connection per round. ``bulk``: one flow per edge for all rounds."""


def ring_rounds(collective: str, members: int) -> int:
    """Return the rounds of a ring collective, 2(k-1) for AllReduce.

    Examples
    --------
    >>> ring_rounds("allreduce", 16), ring_rounds("all-gather", 16)
    (30, 15)
    """
    check_known("ring collective", collective, RING_ROUNDS_PER_NEIGHBOR)
    return RING_ROUNDS_PER_NEIGHBOR[collective] * (members - 1)


def ring_edge_bytes(collective: str, members: int, size_bytes: int, rings: int) -> float:
    """Return the payload on one logical edge of one of ``rings`` equal rings: 2(k-1)/k · S / rings."""
    return ring_rounds(collective, members) / members * size_bytes / rings


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
