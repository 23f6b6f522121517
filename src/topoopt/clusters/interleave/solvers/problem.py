"""What is to be solved: by how many angles to turn each job, so that least exceeds the link."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats

NO_EXCESS = 1e-9
"""In capacities, summed over the angles."""


@dataclass(frozen=True, slots=True, eq=False)
class RotationProblem:
    """Demands on a circle.

    Attributes
    ----------
    demands : array of (jobs, angles)
        In capacities of the link.
    samples : tuple of int
        Angles of one iteration of each job, after which its demand repeats; a job's shift is less.
    """

    demands: Floats
    samples: tuple[int, ...]

    @property
    def jobs(self) -> int:
        """How many there are."""
        return len(self.samples)

    @property
    def angles(self) -> int:
        """Points of the circle."""
        return int(self.demands.shape[1])

    def total(self, shifts: Sequence[int]) -> Floats:
        """Return what all send together at every angle, each job turned later by so many angles."""
        total = np.zeros(self.angles)
        for demand, shift in zip(self.demands, shifts, strict=True):
            total += np.roll(demand, shift)
        return total

    def excess(self, shifts: Sequence[int]) -> float:
        """Return the demand beyond the capacity, summed over the angles."""
        return float(np.maximum(self.total(shifts) - 1, 0.0).sum())

    def cannot_be_less(self, excess: float) -> bool:
        """Return whether an excess is none, or what is left where all demand is spread evenly: no rotation has less."""
        return excess <= max(float(self.demands.sum()) - self.angles, 0.0) + NO_EXCESS

    def distinct(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return how many shifts of each job, in an order of them, differ in more than a turn of all jobs before.

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
