"""CASSINI's rotation problem: by how many angles to turn each job, so that least exceeds the link."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats

NO_EXCESS = 1e-9
"""Tolerance of the excess, in capacities summed over the angles."""


@dataclass(frozen=True, slots=True, eq=False)
class RotationProblem:
    """Demands on a circle.

    Attributes
    ----------
    demands : array of (jobs, angles)
        Demands in capacities of the link.
    samples : tuple of int
        Angles of one iteration of each job, after which its demand repeats; a job's shift is less.
    """

    demands: Floats
    samples: tuple[int, ...]

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.samples)

    @property
    def angles(self) -> int:
        """Points of the circle."""
        return int(self.demands.shape[1])

    def total(self, shifts: Sequence[int]) -> Floats:
        """Return the total demand at every angle, with each job rotated by its shift."""
        total = np.zeros(self.angles)
        for demand, shift in zip(self.demands, shifts, strict=True):
            total += np.roll(demand, shift)
        return total

    def excess(self, shifts: Sequence[int]) -> float:
        """Return the demand beyond the capacity, summed over the angles."""
        return float(np.maximum(self.total(shifts) - 1, 0.0).sum())

    def cannot_be_less(self, excess: float) -> bool:
        """Return whether an excess is zero, or that of evenly spread demand: no rotation has less."""
        return excess <= max(float(self.demands.sum()) - self.angles, 0.0) + NO_EXCESS

    def distinct(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return the number of distinct shifts of each job, given the rotations of the jobs before it in order.

        Turns of the circle that leave all jobs before as they are move a job by multiples of their common period, so
        that its shifts matter only modulo the greatest common divisor of that and its own period. The first has 1.

        Examples
        --------
        >>> import numpy as np
        >>> RotationProblem(np.zeros((2, 72)), (24, 36)).distinct((0, 1))
        (1, 12)
        """
        together, counts = 1, []
        for job in order:
            counts.append(math.gcd(self.samples[job], together))
            together = math.lcm(together, self.samples[job])
        return tuple(counts)


def excess_by_shift(base: Floats, demand: Floats, samples: int) -> Floats:
    """Return the excess for each shift of a job on top of the others' demand.

    Excess is not linear, so that a correlation of the two demands would be wrong. At the angles where the job sends
    ``b``, though, the excess is ``max(0, base + b - 1)``, whatever the job sends elsewhere: so it is a sum, over
    the levels b, of correlations of that with the set of angles at which the job sends b.

    Parameters
    ----------
    base : array of (..., angles)
        Demand of the others, in capacities; many cases at once.
    demand : array of (angles,)
        Demand of the job, unrotated; it repeats after ``samples`` angles.

    Returns
    -------
    array of (..., samples)
        Summed over the angles, in capacities, to about 1e-13 of an angle's.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 3, has the objective; the level sets are this house's.

    Examples
    --------
    >>> import numpy as np
    >>> excess_by_shift(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), 4).round(9)
    array([1., 1., 0., 0.])
    """
    once = demand[:samples]
    excess = np.zeros((*base.shape[:-1], samples))
    for level in np.unique(once):
        over = np.maximum(base + (level - 1), 0.0)
        folded = over.reshape(*base.shape[:-1], -1, samples).sum(axis=-2)
        at_level = np.fft.rfft(np.where(once == level, 1.0, 0.0))
        excess += np.fft.irfft(np.fft.rfft(folded) * at_level.conj(), samples)
    return np.maximum(excess, 0.0)
