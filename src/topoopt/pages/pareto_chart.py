"""Networks by cost and time: the Pareto front with names, chosen ones ringed, the rest in gray."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topoopt.pages.chart import Series
from topoopt.plans import front

FRONT, OTHERS, PLAN, RECOMMENDED = "on the Pareto front", "other networks", "this plan", "recommended"


class ParetoPoint(NamedTuple):
    """A network: its name, cost and time in the units of the axes, and a tooltip."""

    name: str
    cost: float
    time: float
    label: str


def pareto_series(
    points: Sequence[ParetoPoint],
    best: Sequence[ParetoPoint],
    ringed: Mapping[str, ParetoPoint],
    *,
    name_all: bool = True,
) -> tuple[Series, ...]:
    """Return the points beside the front, the front, and a series for each ringed point.

    Parameters
    ----------
    best
        Points on the front.
    name_all
        Whether points that are neither on the front nor ringed have their names beside them, too.
    """
    chosen = list(ringed.values())
    others = [point for point in points if point not in best and point not in chosen]
    line = _series(FRONT, best, ["" if point in chosen else point.name for point in best], line=True)
    rest = _series(OTHERS, others, [point.name if name_all else "" for point in others])
    rings = (_series(name, [point], [point.name], ringed=True) for name, point in ringed.items())
    return tuple(one for one in (rest, line, *rings) if one.x)


def pareto_front(points: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """Return the points that no other beats in both cost and time, the cheapest first.

    Examples
    --------
    >>> rows = [ParetoPoint(name, cost, time, "") for name, cost, time in (("a", 2, 1), ("b", 1, 2), ("c", 2, 3))]
    >>> [point.name for point in pareto_front(rows)]
    ['b', 'a']
    """
    return front(points, lambda point: point.cost, lambda point: point.time)


def _series(
    name: str,
    points: Sequence[ParetoPoint],
    names: Sequence[str],
    *,
    line: bool = False,
    ringed: bool = False,
) -> Series:
    return Series(
        name,
        tuple(point.cost for point in points),
        tuple(point.time for point in points),
        joined=line,
        stepped=line,
        labels=tuple(point.label for point in points),
        names=tuple(names),
        ringed=ringed,
    )
