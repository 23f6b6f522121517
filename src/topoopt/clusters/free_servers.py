"""Which of the free servers a job gets."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Choose = Callable[[Sequence[int], int, np.random.Generator], tuple[int, ...]]


def choose_servers(free: Sequence[int], size: int, how: str, rng: np.random.Generator) -> tuple[int, ...]:
    """Return so many of the free servers, in the order of the job's own.

    Parameters
    ----------
    free : ascending, at least ``size``
    how : str
        Name in :data:`PLACEMENTS_OVER_TIME`. ``contiguous``: neighbors, in the smallest gap that is large enough;
        where none is, the lowest ones. ``strided``: spread evenly over the free ones. ``random``: drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> choose_servers([0, 1, 2, 5, 6], 2, "contiguous", rng), choose_servers([0, 1, 2, 5, 6], 2, "strided", rng)
    ((5, 6), (0, 2))
    """
    assert len(free) >= size
    return PLACEMENTS_OVER_TIME[how](free, size, rng)


def _contiguous(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    cuts = np.flatnonzero(np.diff(free) > 1) + 1
    gaps = np.split(np.asarray(free), cuts)
    large = [gap for gap in gaps if len(gap) >= size]
    chosen = min(large, key=len) if large else np.asarray(free)
    return tuple(chosen[:size].tolist())


def _strided(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(free[index * len(free) // size] for index in range(size))


def _random(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.choice(np.asarray(free), size, replace=False).tolist())


PLACEMENTS_OVER_TIME: Mapping[str, Choose] = {
    "contiguous": _contiguous,
    "strided": _strided,
    "random": _random,
}
"""Ways to choose among free servers, by name; as :data:`topoopt.simulation.PLACEMENTS`, for jobs that come and go."""
