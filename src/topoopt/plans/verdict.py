"""The front of price against time, which networks dominate others, and how sure a verdict about two of them is.

Prices are drawn: every kind of part costs between the low and the high of its price list, most likely what is listed
(triangular), and the same draw holds for all its speeds and in all networks that have such parts.

Iteration times of one job on two networks are compared by the error of such comparisons: over the 64 pairs of measured
runs in ``benchmarks/data/train_runs.csv`` the logarithm of the ratio of two times is off by 0.027 where the times are
equal, and by 0.24 of itself more where they are not (standard deviations; 80 % of the pairs lie within 1.28 of them).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import erf, hypot, isfinite, log, sqrt
from typing import TypeVar
from zlib import crc32

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import NetworkRow

SURE = 0.9
"""Least probability of a verdict, in dollars and in seconds."""
DRAWS = 1_000
EQUAL_TIMES_SPREAD, RATIO_SPREAD = 0.027, 0.24
Row = TypeVar("Row", bound=NetworkRow)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a network stands among others.

    Attributes
    ----------
    on_front : bool or None
        Whether no other dominates it by listed prices: is no worse in both, and better in one; None where its own
        figures are not both known.
    dominated_by : tuple of str
        Labels of those that do, the fastest first.
    cost_low_usd, cost_high_usd : float or None
        Ends of the range that holds 80 % of the drawn prices.
    cheaper_share, faster_share : float or None
        Share of the draws in which it is cheaper than the first network, and the probability that it is faster.
    """

    on_front: bool | None
    dominated_by: tuple[str, ...]
    cost_low_usd: float | None = None
    cost_high_usd: float | None = None
    cheaper_share: float | None = None
    faster_share: float | None = None

    @property
    def beats(self) -> bool:
        """Whether it is cheaper than the first network, and faster, each with a probability of 90 % at least."""
        return (self.cheaper_share or 0.0) >= SURE and (self.faster_share or 0.0) >= SURE

    @property
    def ties_for_less(self) -> bool:
        """Whether it is cheaper than the first network with 90 % at least, and neither is faster with as much."""
        return (self.cheaper_share or 0.0) >= SURE and 1 - SURE < (self.faster_share or 0.0) < SURE


def standings(rows: Sequence[Row], time: Callable[[Row], float]) -> list[Standing]:
    """Return where each row stands, in their order."""
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


def price_range_usd(row: NetworkRow) -> tuple[float | None, float | None]:
    """Return the ends of the range that holds 80 % of the drawn prices of a network."""
    if row.cost_usd is None:
        return None, None
    low, high = np.quantile(drawn_usd(_parts(row)), (0.1, 0.9))
    return float(low), float(high)


def cheaper_share(one: NetworkRow, other: NetworkRow) -> float | None:
    """Return the share of the draws in which one network is cheaper than the other; None without prices.

    Equal prices count as half.
    """
    if one.cost_usd is None or other.cost_usd is None:
        return None
    difference = drawn_usd(_parts(one)) - drawn_usd(_parts(other))
    equal = np.abs(difference) <= 1e-9 * other.cost_usd
    return float(np.mean(np.where(equal, 0.5, difference < 0)))


def _parts(row: NetworkRow) -> Mapping[str, tuple[float, float, float]]:
    """Return the parts of a network; rows of older files have none, and their price is taken as it is."""
    whole = row.cost_usd or 0.0
    return row.cost_parts_usd or {"network": (whole, whole, whole)}


def drawn_usd(parts: Mapping[str, tuple[float, float, float]]) -> Floats:
    """Return drawn prices of a network, shape (:data:`DRAWS`,).

    Parameters
    ----------
    parts
        Low, listed and high dollars of all parts of a kind.

    Examples
    --------
    >>> prices = drawn_usd({"nic": (80.0, 100.0, 150.0)})
    >>> bool(prices.min() >= 80), bool(prices.max() <= 150), round(float(prices.mean()))
    (True, True, 110)
    """
    total = np.zeros(DRAWS)
    for item, ends in parts.items():
        low, listed, high = sorted(ends)
        share, width = uniform_of(item), high - low
        peak = (listed - low) / width if width > 0 else 0.0
        rising = low + np.sqrt(share * width * (listed - low))
        total += np.where(share < peak, rising, high - np.sqrt((1 - share) * width * (high - listed)))
    return total


@lru_cache(64)
def uniform_of(item: str) -> Floats:
    """Return equally spaced shares of 1 in the order that the name of a kind of part decides."""
    order = np.random.default_rng(crc32(item.encode())).permutation(DRAWS)
    return np.asarray((order + 0.5) / DRAWS)


def faster_share(one_s: float, other_s: float) -> float:
    """Return the probability that one of two networks is faster, by the error of pairs of measured runs.

    Examples
    --------
    >>> [round(faster_share(1.0, other_s), 2) for other_s in (1.0, 1.01, 1.05, 0.8)]
    [0.5, 0.64, 0.95, 0.0]
    """
    ratio = log(other_s / one_s)
    return (1 + erf(ratio / hypot(EQUAL_TIMES_SPREAD, RATIO_SPREAD * ratio) / sqrt(2))) / 2


DIGITS = 9
"""Digits that count: what differs in later ones is arithmetic, not a choice."""

AnyRow = TypeVar("AnyRow")
Figure = Callable[[AnyRow], float | None]
"""What a choice costs, or how long it takes; None where that is unknown."""


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether a choice of some price and time beats another: no worse in both, and better in one.

    Examples
    --------
    >>> dominates((77.6e3, 18.4e-3), (83.3e3, 18.7e-3)), dominates((1.0, 2.0), (1.0, 2.0))
    (True, False)
    """
    price, time, other_price, other_time = map(_rounded, (*one, *other))
    return price <= other_price and time <= other_time and (price, time) != (other_price, other_time)


def front(rows: Iterable[AnyRow], price: Figure[AnyRow], time: Figure[AnyRow]) -> tuple[AnyRow, ...]:
    """Return the rows that no other beats in both price and time, by ascending price, then in their own order.

    Rows whose price or time is unknown are left out: nobody knows whether they are beaten. Of rows that are equal in
    both, which is judged by nine digits, all stand on the front.

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
    """Return the places of points that no other is below in one column and no higher in the other one.

    They are ordered by both columns, then by place.

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
    """Return those of the rows that beat one of them, the fastest first; none where its own figures are unknown.

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
    """Return price, time and place of each row of which both are known."""
    points = []
    for place, row in enumerate(rows):
        row_price, row_time = price(row), time(row)
        if row_price is not None and row_time is not None and isfinite(row_price) and isfinite(row_time):
            points.append((_rounded(row_price), _rounded(row_time), place, row))
    return points


def _rounded(figure: float) -> float:
    """Return a figure to so many digits as count; so equality is transitive, as it is not within a tolerance."""
    return float(f"{figure:.{DIGITS}g}")
