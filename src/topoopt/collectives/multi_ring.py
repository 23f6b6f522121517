"""Multi-ring AllReduce: one ring per stride, each with an equal share of the bytes."""

import math
from collections.abc import Sequence

from topoopt.collectives.ring import ring
from topoopt.collectives.schedule import Schedule, check_ranks, relabel, side_by_side
from topoopt.errors import InvalidInput


def multi_ring(ranks: int, strides: Sequence[int] | None = None) -> Schedule:
    """Return rings of several strides side by side (TopoOpt section 4.3).

    Parameters
    ----------
    strides : sequence of int, optional
        Each coprime with ``ranks``; 1 and ``ranks - 1`` (both directions) by default.
    """
    check_ranks("multi-ring", ranks)
    chosen = (1, ranks - 1) if strides is None else tuple(strides)
    for stride in chosen:
        if math.gcd(stride, ranks) != 1:
            raise InvalidInput(
                f"multi-ring: stride {stride} does not visit all {ranks} ranks; choose one coprime with it"
            )
    single = ring(ranks)
    return side_by_side(
        "multi-ring", [relabel(single, [p * i % ranks for i in range(ranks)]) for p in chosen]
    )
