"""What would change the answer: by how much one price, or one job's share, has to move until another network wins."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np

from topoopt.studies.choice.decision import Limits, winner
from topoopt.studies.choice.evaluated import PLANNED, Evaluated
from topoopt.studies.choice.figures import Figures, figures_of
from topoopt.studies.choice.mix import Mix

FARTHEST = 4.0
"""Prices are tried from a quarter to four times what they are."""
STEPS = 48
"""Values that are tried on each side, before the one at which the answer changes is looked for between two of them."""
HALVINGS = 40

PRICE, SHARE = "price", "share"

Winner = Callable[[float], int | None]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """Where the answer changes.

    Attributes
    ----------
    kind : str
        :data:`PRICE`: ``value`` is a factor of what is paid for ``name``. :data:`SHARE`: it is the share of the job
        ``name``, the others keeping their proportions.
    was, value : float
        What it is, 1 or the share; and the first value away from that at which another network wins.
    network : Evaluated or None
        That wins from there on; None where no network meets the limit any more.
    """

    kind: str
    name: str
    was: float
    value: float
    network: Evaluated | None

    @property
    def certain(self) -> bool:
        """Whether it was planned; else it may win, if it is as fast as it can be at best."""
        return self.network is None or self.network.status == PLANNED

    def to_json(self) -> dict[str, Any]:
        """Return the turn as a mapping."""
        return {
            "kind": self.kind,
            "name": self.name,
            "was": self.was,
            "value": self.value,
            "network": None if self.network is None else self.network.network.name,
            "certain": self.certain,
        }


def turns(points: Sequence[Evaluated], mix: Mix, limits: Limits) -> tuple[Turn, ...]:
    """Return where the answer changes, for every price and share at most one below and one above what it is.

    Networks that were dropped take part with the least times that they can have, so that none is overlooked. Prices
    come first, and in each kind those that have to move least.
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
    """Yield where the answer changes with the price of one part."""

    def at(factor: float) -> int | None:
        factors = np.ones(len(found.parts))
        factors[place] = factor
        return winner(found, limits, factors)

    for end in (1 / FARTHEST, FARTHEST):
        yield from _first(found, PRICE, found.parts[place], at, [exp(log(end) * step) for step in _steps()])


def _of_share(found: Figures, limits: Limits, mix: Mix, place: int) -> Iterator[Turn]:
    """Yield where the answer changes with the share of one job."""
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
