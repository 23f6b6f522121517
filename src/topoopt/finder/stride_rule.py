"""The face of a stride rule, and the two rules that were published."""

from typing import Protocol

import numpy as np

from topoopt.finder.totient_perms import totient_perms


class StrideRule(Protocol):
    """Chooses which rings of a group get links."""

    def __call__(self, size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return ``count`` strides for a group of ``size``; ``also`` are strides wired in any case.

        Where there are fewer different strides than asked for, the first ones repeat as parallel links.
        """
        ...


def nearest(size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the candidates nearest to a geometric sequence (the paper's Algorithm 3).

    The next stride is the one closest to the last times n^(1/count); of two as close, the larger. In
    duplex mode p is no candidate once n-p is taken, since its cables are the same.

    Examples
    --------
    >>> nearest(16, 3, "directed"), nearest(128, 4, "duplex")
    ((1, 3, 7), (1, 3, 11, 37))
    """
    ratio = size ** (1 / count)
    left = totient_perms(size).copy()
    picked: list[int] = []
    while len(left) and len(picked) < count:
        distance = np.abs(left - picked[-1] * ratio) if picked else left
        stride = int(left[np.flatnonzero(distance == distance.min())[-1]])
        picked.append(stride)
        taken = (left == stride) | ((left == size - stride) & (links == "duplex"))
        left = left[~taken]
    return repeated(picked, count)


def lower_bound(size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the first unused candidates at or above a geometric sequence (the authors' released code).

    The ratio is the span of the candidates to the power 1/count, or 1/(count-1) in directed mode. Faithful
    to the release, p and n-p may both be taken in duplex mode, which gives parallel links. Above the
    last candidate the largest unused one is taken.

    Examples
    --------
    >>> lower_bound(128, 4, "duplex"), lower_bound(12, 3, "duplex")
    ((1, 5, 13, 39), (1, 5, 7))
    """
    candidates = totient_perms(size)
    roots = count if links == "duplex" else max(count - 1, 1)
    ratio = float(candidates[-1] / candidates[0]) ** (1 / roots)
    left = candidates.copy()
    picked: list[int] = []
    for power in range(min(count, len(candidates))):
        # A hair below the power, so that ratio ** roots still finds the last candidate itself.
        at = min(int(np.searchsorted(left, ratio**power * (1 - 1e-12))), len(left) - 1)
        picked.append(int(left[at]))
        left = np.delete(left, at)
    return repeated(picked, count)


def repeated(picked: list[int], count: int) -> tuple[int, ...]:
    """Return the picks, from the first again where there are too few."""
    return tuple(picked[i % len(picked)] for i in range(count))
