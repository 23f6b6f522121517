"""Cost model of a ring: the bytes of a collective over n members, from each member to the next."""

from typing import Any, overload

from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import check_known

RING_PASSES = {"allreduce": 2, "reduce-scatter": 1, "all-gather": 1}
"""Passes of the buffer around the ring; an AllReduce is a reduce-scatter and an all-gather."""


def ring_rounds(collective: str, members: int) -> int:
    """Return the rounds of a ring collective, 2(n-1) for AllReduce: in each, every member sends 1/n of the buffer.

    Examples
    --------
    >>> ring_rounds("allreduce", 16), ring_rounds("all-gather", 16)
    (30, 15)
    """
    check_known("ring collective", collective, RING_PASSES)
    return RING_PASSES[collective] * (members - 1)


@overload
def bus_bandwidth_factor(collective: str, members: float) -> float: ...
@overload
def bus_bandwidth_factor(collective: str, members: NDArray[Any]) -> Floats: ...


def bus_bandwidth_factor(collective: str, members: float | NDArray[Any]) -> float | Floats:
    """Return the bytes that each member sends relative to its buffer: 2(n-1)/n for AllReduce, else (n-1)/n.

    No algorithm without in-network reduction sends less. nccl-tests multiplies by it to get the bus bandwidth.

    Examples
    --------
    >>> bus_bandwidth_factor("allreduce", 4), bus_bandwidth_factor("all-gather", 4)
    (1.5, 0.75)
    """
    return RING_PASSES[collective] * (members - 1) / members
