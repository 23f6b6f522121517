"""The noun Figures: money and times of networks as two arrays, so that many prices and mixes are tried at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.studies.choice.evaluated import PLANNED, Evaluated
from topoopt.studies.choice.mix import Mix


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
