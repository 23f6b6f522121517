"""The Pareto front of price and time, and the probability that one network is cheaper or faster than another.

Prices are sampled by :func:`topoopt.pricing.cheaper_share`.

Iteration times of one job on two networks are compared by the error of pairs of measured runs: over 64 pairs in
``benchmarks/data/train_runs.csv`` the standard deviation of the logarithm of their ratio is 0.027 for equal times,
combined in quadrature with 0.24 of the logarithm itself; 80% of the pairs are within 1.28 standard deviations.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import erf, hypot, isfinite, log, sqrt
from typing import TypeVar

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import NetworkRow
from topoopt.pricing import cheaper_share, price_range_usd

SURE = 0.9
"""Least probability with which a network is called cheaper or faster."""
EQUAL_TIMES_SPREAD, RATIO_SPREAD = 0.027, 0.24
Row = TypeVar("Row", bound=NetworkRow)


@dataclass(frozen=True, slots=True)
class Standing:
    """Comparison of a network with the others of a table.

    Attributes
    ----------
    on_front : bool or None
        Whether no other network dominates it at listed prices; None if its price is unknown.
    dominated_by : tuple of str
        Labels of the networks that dominate it, the fastest first.
    cost_low_usd, cost_high_usd : float or None
        10th and 90th percentile of the sampled price.
    cheaper_share, faster_share : float or None
        Probability that it is cheaper than the first network, and that it is faster.
    """

    on_front: bool | None
    dominated_by: tuple[str, ...]
    cost_low_usd: float | None = None
    cost_high_usd: float | None = None
    cheaper_share: float | None = None
    faster_share: float | None = None

    @property
    def beats(self) -> bool:
        """Whether it is cheaper and faster than the first network, each with a probability of at least 90%."""
        return (self.cheaper_share or 0.0) >= SURE and (self.faster_share or 0.0) >= SURE

    @property
    def ties_for_less(self) -> bool:
        """Whether it is cheaper with a probability of at least 90%, and neither network is faster with as much."""
        return (self.cheaper_share or 0.0) >= SURE and 1 - SURE < (self.faster_share or 0.0) < SURE


def standings(rows: Sequence[Row], time: Callable[[Row], float]) -> list[Standing]:
    """Return the standing of each row, in the order of the rows."""
    found = []
    for row in rows:
        over = dominators(row, rows, lambda one: one.cost_usd, time)
        low, high = price_range_usd(row)
        against: tuple[float | None, float | None] = (None, None)
        if row is not rows[0]:
            against = cheaper_share(row, rows[0]), faster_share(time(row), time(rows[0]))
        on_front = None if row.cost_usd is None else not over
        found.append(Standing(on_front, tuple(one.label for one in over), low, high, *against))
    return found


def faster_share(one_s: float, other_s: float) -> float:
    """Return the probability that the first network is faster, given the error of pairs of measured runs.

    Examples
    --------
    >>> [round(faster_share(1.0, other_s), 2) for other_s in (1.0, 1.01, 1.05, 0.8)]
    [0.5, 0.64, 0.95, 0.0]
    """
    ratio = log(other_s / one_s)
    return (1 + erf(ratio / hypot(EQUAL_TIMES_SPREAD, RATIO_SPREAD * ratio) / sqrt(2))) / 2


DIGITS = 9
"""Significant digits that are compared; later digits differ by rounding alone."""

AnyRow = TypeVar("AnyRow")
Figure = Callable[[AnyRow], float | None]
"""Price or time of a choice; None if it is unknown."""


def as_good_for_no_more(
    own: AnyRow, rows: Iterable[AnyRow], price: Figure[AnyRow], time: Figure[AnyRow]
) -> list[AnyRow]:
    """Return other rows that cost no more than a row and are as fast within the error.

    The ideal switch cannot be bought in every size, so it gives way to such a row.

    Examples
    --------
    >>> fabrics = {"ideal": (170.0, 17.8), "rail": (170.0, 17.9), "torus": (59.3, 28.1), "fat-tree": (180.0, 17.8)}
    >>> as_good_for_no_more("ideal", fabrics, lambda name: fabrics[name][0], lambda name: fabrics[name][1])
    ['rail']
    """
    known = _known([own], price, time)
    return [
        row
        for row_price, row_time, _, row in _known(rows, price, time)
        if known and row is not own and row_price <= known[0][0]
        if 1 - SURE < faster_share(row_time, known[0][1]) < SURE
    ]


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether one choice dominates another: no worse in price and time, and better in one of them.

    Examples
    --------
    >>> dominates((77.6e3, 18.4e-3), (83.3e3, 18.7e-3)), dominates((1.0, 2.0), (1.0, 2.0))
    (True, False)
    """
    price, time, other_price, other_time = map(_rounded, (*one, *other))
    return price <= other_price and time <= other_time and (price, time) != (other_price, other_time)


def front(rows: Iterable[AnyRow], price: Figure[AnyRow], time: Figure[AnyRow]) -> tuple[AnyRow, ...]:
    """Return the rows on the Pareto front of price and time, by ascending price, then in their own order.

    Rows with an unknown price or time are excluded. Rows that are equal in both to nine digits are all on the front.

    Examples
    --------
    >>> fabrics = {"torus": (59.3, 18.1), "rail": (77.6, 17.8), "switch": (170.0, 17.8), "tree": (None, 9.0)}
    >>> front(fabrics, lambda name: fabrics[name][0], lambda name: fabrics[name][1])
    ('torus', 'rail')
    """
    known = _known(rows, price, time)
    prices, times, _, found = zip(*known, strict=True) if known else ((), (), (), ())
    return tuple(found[place] for place in unbeaten(np.array(prices), np.array(times)).tolist())


def unbeaten(one: Floats, other: Floats) -> Ints:
    """Return the indices of the points that no other dominates, ordered by both columns, then by index.

    Examples
    --------
    >>> unbeaten(np.array([1.0, 2.0, 3.0, 2.5, 1.0]), np.array([9.0, 5.0, 6.0, 4.0, 9.0])).tolist()
    [0, 4, 1, 3]
    """
    order = np.lexsort((other, one))
    first, second = one[order], other[order]
    lower = np.ones(len(order), np.bool_)
    lower[1:] = second[1:] < np.minimum.accumulate(second)[:-1]
    new = np.ones(len(order), np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return np.asarray(order[lower[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]], np.int64)


def dominators(
    own: AnyRow, rows: Sequence[AnyRow], price: Figure[AnyRow], time: Figure[AnyRow]
) -> tuple[AnyRow, ...]:
    """Return the rows that dominate a row, the fastest first; none if its own price or time is unknown.

    Examples
    --------
    >>> points = [(83.3, 18.7), (77.6, 18.4), (170.0, 17.8), (59.3, 18.5)]
    >>> dominators(points[0], points, lambda point: point[0], lambda point: point[1])
    ((77.6, 18.4), (59.3, 18.5))
    """
    mine = _known([own], price, time)
    known = _known(rows, price, time) if mine else []
    beats = [point for point in known if dominates(point[:2], mine[0][:2])]
    return tuple(row for _, _, _, row in sorted(beats, key=lambda point: (point[1], point[0], point[2])))


def _known(
    rows: Iterable[AnyRow], price: Figure[AnyRow], time: Figure[AnyRow]
) -> list[tuple[float, float, int, AnyRow]]:
    points = []
    for place, row in enumerate(rows):
        row_price, row_time = price(row), time(row)
        if row_price is not None and row_time is not None and isfinite(row_price) and isfinite(row_time):
            points.append((_rounded(row_price), _rounded(row_time), place, row))
    return points


def _rounded(figure: float) -> float:
    """Return a number rounded to :data:`DIGITS`, so that equality is transitive, unlike within a tolerance."""
    return float(f"{figure:.{DIGITS}g}")
