"""The noun Figures: money and times of networks as two arrays, so that many prices and mixes are tried at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.studies.choice.job_mix import Mix
from topoopt.studies.choice.network import Network
from topoopt.studies.choice.pricing import OTHERS, Money

PLANNED, DROPPED, LEFT_OUT = "planned", "dropped", "left-out"
"""``dropped``: a planned network costs no more and is no slower than this one can be. ``left-out``: it has no price, or
cannot carry a job."""


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
        Why it is left out, or by what it was dropped; else empty.
    times_s : tuple of float
        Iteration time of each job of the mix; of what was dropped the least that it can be. Empty where left out.
    relative_times : tuple of float
        The same over the times on the reference network.
    """

    network: Network
    money: Money | None
    status: str
    reason: str
    times_s: tuple[float, ...]
    relative_times: tuple[float, ...]

    def relative_time(self, mix: Mix) -> float | None:
        """Return how long the work takes that the reference network does in a year, in years; None where left out."""
        if not self.relative_times:
            return None
        return sum(job.share * time for job, time in zip(mix, self.relative_times, strict=True))

    def usd(self) -> float | None:
        """Return what it costs over the years; None where that is not known."""
        return None if self.money is None else self.money.total_usd

    def parts_usd(self) -> dict[str, float]:
        """Return what is paid, by what for; empty where there is no price."""
        return {} if self.money is None else self.money.by_part()

    def to_json(self, mix: Mix) -> dict[str, Any]:
        """Return the point as a mapping; what was dropped has no times, but the least that they can be."""
        network, money = self.network, self.money
        time = self.relative_time(mix)
        planned = self.status == PLANNED
        return {
            "network": network.name,
            "fabric": network.fabric,
            "degree": network.degree,
            "bandwidth_bps": network.bandwidth_bps,
            "link_technology": network.links,
            "status": self.status,
            "reason": self.reason,
            "network_usd": None if money is None else money.price_usd,
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
    """Networks that have a price and times; those that were planned come first.

    Attributes
    ----------
    parts : tuple of str
        What is paid for.
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
        """Return what each network costs, each part times its factor."""
        money: Floats = self.usd.sum(axis=1) if factors is None else self.usd @ factors
        return money

    def times(self, shares: Floats | None = None) -> Floats:
        """Return the relative time of the work on each network, or the least that it can be."""
        times: Floats = self.relative_times @ (self.shares if shares is None else shares)
        return times


def figures_of(points: Sequence[Evaluated], mix: Mix) -> Figures:
    """Return the figures of networks that were planned, and of those that were dropped."""
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
    """Return what the work of a year costs: money a year times the years that the work takes; None if unknown."""
    usd, time = point.usd(), point.relative_time(mix)
    if usd is None or time is None or point.money is None:
        return None
    return usd / point.money.years * time
