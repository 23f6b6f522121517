"""What a search of very many servers can afford: part of the proposals of its budget, one simulation at a time."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from topoopt.base.workers import in_threads

T = TypeVar("T")
R = TypeVar("R")

LARGEST_FOR_ALL = 1024
"""Servers up to which all proposals are made, on other fabrics, too. One on 4,096 takes 0.05 s of CPU time, on 1,024 a
fiftieth of that; a simulation takes 1.5 GB, and there a quarter."""


def affordable(budget: int, servers: int) -> int:
    """Return the proposals that are made: all, or so many that the pairs of servers looked at are as many as of 1,024.

    Examples
    --------
    >>> affordable(4000, 1024), affordable(4000, 4096), affordable(1, 4096), affordable(0, 4096)
    (4000, 250, 1, 0)
    """
    if servers <= LARGEST_FOR_ALL:
        return budget
    return max(budget * LARGEST_FOR_ALL**2 // servers**2, min(budget, 1))


def as_many_as_fit(function: Callable[[T], R], items: Iterable[T], servers: int) -> list[R]:
    """Return what a function that simulates gives for each item: side by side, or of very many servers by turns."""
    return in_threads(function, items) if servers <= LARGEST_FOR_ALL else [function(item) for item in items]
