"""The decision among networks, from costs and times as arrays, and the changes that would alter it.

Without a limit the *knee* is chosen, the network on which the work of a year costs least: money over all years × time.
Up to it a percent more money buys more than a percent of time, beyond it less. With a budget it is the fastest that
the budget pays, with a deadline the cheapest that meets it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import IDEAL_SWITCH
from topoopt.plans import as_good_for_no_more, dominators, front
from topoopt.pricing import price_range_usd
from topoopt.studies.choice.job_mix import Mix
from topoopt.studies.choice.network import OTHERS, Money, Network

PLANNED, DROPPED, LEFT_OUT = "planned", "dropped", "left-out"
"""``dropped``: a planned network costs no more and is no slower. ``left-out``: no price, or cannot carry a job."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """One point of the grid.

    Attributes
    ----------
    money : Money or None
        None where it has no price.
    status : str
        :data:`PLANNED`, :data:`DROPPED` or :data:`LEFT_OUT`.
    reason : str
        Reason for leaving it out, or the network that dominates it; else empty.
    times_s : tuple of float
        Iteration time of each job of the mix; lower bounds for dropped networks. Empty where left out.
    relative_times : tuple of float
        Times relative to the reference network.
    """

    network: Network
    money: Money | None
    status: str
    reason: str
    times_s: tuple[float, ...]
    relative_times: tuple[float, ...]

    def relative_time(self, mix: Mix) -> float | None:
        """Return the time in years for one reference-year of work; None where left out."""
        if not self.relative_times:
            return None
        return sum(job.share * time for job, time in zip(mix, self.relative_times, strict=True))

    def usd(self) -> float | None:
        """Return the cost over the years; None where unknown."""
        return None if self.money is None else self.money.total_usd

    def parts_usd(self) -> dict[str, float]:
        """Return the cost by item; empty without a price."""
        return {} if self.money is None else self.money.by_part()

    def to_json(self, mix: Mix) -> dict[str, Any]:
        """Return the point as a mapping; dropped networks have lower bounds in place of times."""
        network, money = self.network, self.money
        time = self.relative_time(mix)
        planned = self.status == PLANNED
        low_usd, high_usd = (None, None) if money is None else price_range_usd(money.network)
        return {
            "network": network.name,
            **fields_of(network, "fabric", "degree", "bandwidth_bps"),
            "link_technology": network.links,
            **fields_of(self, "status", "reason"),
            "network_usd": None if money is None else money.price_usd,
            "network_low_usd": low_usd,
            "network_high_usd": high_usd,
            **{f"{name}_usd": None if money is None else money.other_usd.get(name) for name in OTHERS},
            "total_usd": self.usd(),
            "relative_time": time if planned else None,
            "relative_time_at_least": None if planned else time,
            "usd_per_year_of_work": work_usd(self, mix) if planned else None,
            "iteration_times_s": dict(zip((job.name for job in mix), self.times_s, strict=False))
            if planned
            else {},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Networks with a price and times; planned ones come first.

    Attributes
    ----------
    parts : tuple of str
        Cost items.
    usd : float64 array, shape (points, parts)
    relative_times : float64 array, shape (points, jobs)
    shares : float64 array, shape (jobs,)
    """

    points: tuple[Evaluated, ...]
    parts: tuple[str, ...]
    usd: Floats
    relative_times: Floats
    shares: Floats

    def money_usd(self, factors: Floats | None = None) -> Floats:
        """Return the cost of each network, with each item multiplied by its factor."""
        money: Floats = self.usd.sum(axis=1) if factors is None else self.usd @ factors
        return money

    def times(self, shares: Floats | None = None) -> Floats:
        """Return the relative time of the work on each network, or the least that it can be."""
        times: Floats = self.relative_times @ (self.shares if shares is None else shares)
        return times


KNEE, BUDGET, DEADLINE = "knee", "budget", "deadline"
ROUNDING = 1e-9
"""Relative tolerance of limits and of equal products."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Budget or time limit; at most one of them.

    Attributes
    ----------
    budget_usd : float or None
        Budget over all years.
    deadline_years : float or None
        Limit for the work that the reference network does in a year.
    """

    budget_usd: float | None = None
    deadline_years: float | None = None

    def __post_init__(self) -> None:
        if self.budget_usd is not None and self.deadline_years is not None:
            raise InvalidInput("deadline: a budget is given already; give one of them")
        for word, value in (("budget_usd", self.budget_usd), ("deadline", self.deadline_years)):
            if value is not None and not 0 < value < float("inf"):
                raise InvalidInput(f"{word}: expected more than 0, got {value:g}")

    @property
    def rule(self) -> str:
        """:data:`BUDGET`, :data:`DEADLINE` or :data:`KNEE`."""
        if self.budget_usd is not None:
            return BUDGET
        return KNEE if self.deadline_years is None else DEADLINE


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Network to buy, the rule that chose it, and the next networks of the front; None where there is none."""

    rule: str
    point: Evaluated
    cheaper: Evaluated | None
    dearer: Evaluated | None

    def shares(self, other: Evaluated, mix: Mix) -> tuple[float, float]:
        """Return the relative increase of cost and time of another network; negative for less."""
        found = figures_of([self.point, other], mix)
        money_usd, times = found.money_usd(), found.times()
        return float(money_usd[1] / money_usd[0] - 1), float(times[1] / times[0] - 1)


FARTHEST = 4.0
"""Prices are varied from a quarter to four times their value."""
STEPS = 48
"""Values that are tried on each side, before the one at which the answer changes is looked for between two of them."""
HALVINGS = 40
PRICE, SHARE = "price", "share"
Winner = Callable[[float], int | None]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A change of a price or share at which the answer changes.

    Attributes
    ----------
    kind : str
        :data:`PRICE`: ``value`` is a factor on the cost of ``name``. :data:`SHARE`: it is the share of the job
        ``name``, the others keeping their proportions.
    was, value : float
        Present value (1, or the share), and the nearest value at which another network wins.
    network : Evaluated or None
        Network that wins from there on; None where no network meets the limit any more.
    """

    kind: str
    name: str
    was: float
    value: float
    network: Evaluated | None

    @property
    def certain(self) -> bool:
        """Whether it was planned; otherwise it may win if it is as fast as its bound."""
        return self.network is None or self.network.status == PLANNED

    def to_json(self) -> dict[str, Any]:
        """Return the turn as a mapping."""
        return {
            **fields_of(self, "kind", "name", "was", "value"),
            "network": None if self.network is None else self.network.network.name,
            "certain": self.certain,
        }


def turns(points: Sequence[Evaluated], mix: Mix, limits: Limits) -> tuple[Turn, ...]:
    """Return the changes of the answer: for every price and share, the nearest below and above its value.

    Dropped networks take part with their least possible times, so that none is overlooked. Prices come first, and in
    each kind those with the fewest moves.
    """
    found = figures_of(points, mix)
    if len(found.points) < 2:
        return ()
    prices = [turn for place in range(len(found.parts)) for turn in _of_price(found, limits, place)]
    shares = [turn for place in range(len(mix)) for turn in _of_share(found, limits, mix, place)]
    prices.sort(key=lambda turn: abs(log(turn.value)))
    shares.sort(key=lambda turn: abs(turn.value - turn.was))
    return (*prices, *shares)


def _of_price(found: Figures, limits: Limits, place: int) -> Iterator[Turn]:
    def at(factor: float) -> int | None:
        factors = np.ones(len(found.parts))
        factors[place] = factor
        return winner(found, limits, factors)

    for end in (1 / FARTHEST, FARTHEST):
        yield from _first(found, PRICE, found.parts[place], at, [exp(log(end) * step) for step in _steps()])


def _of_share(found: Figures, limits: Limits, mix: Mix, place: int) -> Iterator[Turn]:
    was = mix[place].share
    if was == 1.0:
        return

    def at(share: float) -> int | None:
        shares = found.shares * (1.0 - share) / (1.0 - was)
        shares[place] = share
        return winner(found, limits, None, shares)

    for end in (0.0, 1.0):
        yield from _first(found, SHARE, mix[place].name, at, [was + (end - was) * step for step in _steps()])


def _steps() -> list[float]:
    return [index / STEPS for index in range(STEPS + 1)]


def _first(found: Figures, kind: str, name: str, at: Winner, values: Sequence[float]) -> Iterator[Turn]:
    """Yield the first change of the winner along some values, if there is one."""
    now = at(values[0])
    for same, other in pairwise(values):
        if at(other) != now:
            value = _between(at, now, same, other)
            place = at(value)
            yield Turn(kind, name, values[0], value, None if place is None else found.points[place])
            return


def _between(at: Winner, now: int | None, same: float, other: float) -> float:
    """Return the value from which on the winner is another, between one that has it and one that has not."""
    for _ in range(HALVINGS):
        middle = (same + other) / 2
        if at(middle) == now:
            same = middle
        else:
            other = middle
    return other


def decide(points: Sequence[Evaluated], mix: Mix, limits: Limits) -> Decision:
    """Return the network to buy among the planned ones.

    Raises
    ------
    Infeasible
        If no network has a price and times, or none meets the limit, with the nearest one.
    """
    row = front_of(points, mix)
    if not row:
        raise Infeasible("no network of the grid has both a price and a plan of every job")
    found = figures_of(row, mix)
    place = winner(found, limits)
    if place is None:
        raise _nothing(found, limits)
    own, money_usd = found.points[place], found.money_usd()
    cheaper = [point for point, usd in zip(row, money_usd, strict=True) if usd < money_usd[place]]
    dearer = [point for point, usd in zip(row, money_usd, strict=True) if usd > money_usd[place]]
    return Decision(limits.rule, own, cheaper[-1] if cheaper else None, dearer[0] if dearer else None)


def buyable(points: Sequence[Evaluated], mix: Mix) -> tuple[Evaluated, ...]:
    """Return the networks without ideal switches that give way to a real network, as in a plan's recommendation."""
    planned = [point for point in points if point.status == PLANNED]
    figures = Evaluated.usd, lambda point: point.relative_time(mix)
    return tuple(
        point
        for point in points
        if point.network.fabric != IDEAL_SWITCH or not as_good_for_no_more(point, planned, *figures)
    )


def front_of(points: Sequence[Evaluated], mix: Mix) -> tuple[Evaluated, ...]:
    """Return the planned networks that no other beats in money and time, by price."""
    planned = [point for point in points if point.status == PLANNED]
    return front(planned, lambda point: point.usd(), lambda point: point.relative_time(mix))


def dominated_by(
    row: Sequence[Evaluated], points: Sequence[Evaluated], mix: Mix
) -> tuple[tuple[Evaluated, Evaluated], ...]:
    """Return the planned networks that a front dominates, the nearest first, each with the nearest row of the front.

    Near is by the ratio of their products of money and time.
    """

    def ratio(pair: tuple[Evaluated, Evaluated]) -> float:
        own, better = ((one.usd() or 1.0) * (one.relative_time(mix) or 1.0) for one in pair)
        return own / better

    found = []
    for point in points:
        if point.status == PLANNED:
            figures = Evaluated.usd, lambda one: one.relative_time(mix)
            over = dominators(point, row, *figures)
            if not over and point not in row:  # an ideal switch
                over = tuple(as_good_for_no_more(point, row, *figures))
            found += sorted(((point, one) for one in over), key=ratio)[:1]
    return tuple(sorted(found, key=ratio))


def winner(
    found: Figures, limits: Limits, factors: Floats | None = None, shares: Floats | None = None
) -> int | None:
    """Return the place of the best network by the rule; None where none meets the limit.

    Among networks with equal products of cost and time, the cheapest is chosen, then the first.
    """
    money_usd, times = found.money_usd(factors), found.times(shares)
    if limits.rule == KNEE:
        products = money_usd * times
        best = np.flatnonzero(products <= products.min() * (1 + ROUNDING))
        return int(best[np.argmin(money_usd[best])])
    limited, wanted, other = (
        (money_usd, times, limits.budget_usd)
        if limits.budget_usd is not None
        else (times, money_usd, limits.deadline_years)
    )
    assert other is not None
    allowed = np.flatnonzero(limited <= other * (1 + ROUNDING))
    if not len(allowed):
        return None
    return int(allowed[np.lexsort((limited[allowed], wanted[allowed]))[0]])


def _nothing(found: Figures, limits: Limits) -> Infeasible:
    """Return the error that no network meets the limit, which names the nearest."""
    money_usd, times = found.money_usd(), found.times()
    if limits.budget_usd is not None:
        place = int(np.argmin(money_usd))
        asked, needs = f"budget_usd {limits.budget_usd:,.0f}", f"{money_usd[place]:,.0f} US$"
    else:
        place = int(np.argmin(times))
        asked = f"deadline {limits.deadline_years:.4g} years of work"
        needs = f"{times[place]:.4g}"
    name = found.points[place].network.name
    return Infeasible(f"{asked}: no network of the grid meets it; the nearest, {name}, needs {needs}")


def figures_of(points: Sequence[Evaluated], mix: Mix) -> Figures:
    """Return the figures of planned networks, and of dropped ones."""
    priced = [point for point in points if point.relative_times and point.money is not None]
    rows = sorted(priced, key=lambda point: point.status != PLANNED)
    parts = tuple(dict.fromkeys(part for point in rows for part in point.parts_usd()))
    usd = [[point.parts_usd().get(part, 0.0) for part in parts] for point in rows]
    times = [point.relative_times for point in rows]
    return Figures(
        tuple(rows),
        parts,
        np.array(usd, np.float64).reshape(len(rows), len(parts)),
        np.array(times, np.float64).reshape(len(rows), len(mix)),
        np.array([job.share for job in mix]),
    )


def work_usd(point: Evaluated, mix: Mix) -> float | None:
    """Return the cost of a year's work: annual cost times the years it takes; None if unknown."""
    usd, time = point.usd(), point.relative_time(mix)
    if usd is None or time is None or point.money is None:
        return None
    return usd / point.money.years * time
