"""The front of price against time: what no other choice beats in both, and who beats the rest."""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import TypeVar

import numpy as np

from topoopt.base.arrays import Floats, Ints

DIGITS = 9
"""Digits that count: what differs in later ones is arithmetic, not a choice."""

Row = TypeVar("Row")
Figure = Callable[[Row], float | None]
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


def front(rows: Iterable[Row], price: Figure[Row], time: Figure[Row]) -> tuple[Row, ...]:
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


def dominators(own: Row, rows: Sequence[Row], price: Figure[Row], time: Figure[Row]) -> tuple[Row, ...]:
    """Return those of the rows that beat one of them, the fastest first; none where its own figures are unknown.

    Examples
    --------
    >>> points = [(83.3, 18.7), (77.6, 18.4), (170.0, 17.8), (59.3, 18.5)]
    >>> dominators(points[0], points, lambda point: point[0], lambda point: point[1])
    ((77.6, 18.4), (59.3, 18.5))
    """
    mine = _known([own], price, time)
    if not mine:
        return ()
    beats = [
        point
        for point in _known(rows, price, time)
        if dominates((point[0], point[1]), (mine[0][0], mine[0][1]))
    ]
    return tuple(row for _, _, _, row in sorted(beats, key=lambda point: (point[1], point[0], point[2])))


def _known(rows: Iterable[Row], price: Figure[Row], time: Figure[Row]) -> list[tuple[float, float, int, Row]]:
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
