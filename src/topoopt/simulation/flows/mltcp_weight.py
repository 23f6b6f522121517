"""MLTCP's weight F of the bytes ratio, its aggressiveness: how hard a job pushes for a link, by how much of its
iteration's bytes it has sent."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known

FORMS: Mapping[str, Callable[[Floats, float, float], Floats]] = {
    "linear": lambda ratio, slope, intercept: slope * ratio + intercept,
    "quadratic": lambda ratio, slope, intercept: slope * ratio**2 + intercept,
    "reciprocal": lambda ratio, slope, intercept: (
        1.0 / ((1.0 - ratio) / intercept + ratio / (intercept + slope))
    ),
}
"""Curves from the intercept, where nothing is sent, to intercept + slope, where all is."""

TABLE_POINTS: Final = 129
"""Bytes ratios at which kernels tabulate a form; they interpolate linearly between, exactly where it is linear."""


@dataclass(frozen=True, slots=True)
class Aggressiveness:
    """F(bytes ratio): factor of a window's growth, or of a weight in max-min fairness.

    Any form that increases lets jobs of one link part from each other; one that decreases locks them in full overlap.

    Attributes
    ----------
    slope, intercept : float
        F is ``intercept`` where nothing is sent and ``intercept + slope`` where all is. The defaults are *from memory
        of the paper, unconfirmed*; its co-authors' ns-3 code has a slope of 4.0.
    form : str
        A name in :data:`FORMS`.

    Raises
    ------
    InvalidInput
        If F is not positive everywhere.

    References
    ----------
    .. [1] S. Rajasekaran et al., "MLTCP", HotNets 2024, section 3.

    Examples
    --------
    >>> Aggressiveness()(np.array([0.0, 0.5, 1.0])).tolist()
    [0.25, 1.125, 2.0]
    """

    slope: float = 1.75
    intercept: float = 0.25
    form: str = "linear"

    def __post_init__(self) -> None:
        check_known("aggressiveness", self.form, FORMS)
        for name, value in (("slope", self.slope), ("intercept", self.intercept)):
            if not math.isfinite(value):
                raise InvalidInput(f"aggressiveness: {name} {value}: expected a finite number")
        if min(self.intercept, self.intercept + self.slope) <= 0:
            raise InvalidInput(
                f"aggressiveness: slope {self.slope:g} and intercept {self.intercept:g}: F has to be positive where "
                "nothing is sent (the intercept) and where all is (intercept + slope)"
            )

    def __call__(self, bytes_ratio: Floats) -> Floats:
        """Return F of some bytes ratios; those above 1 count as 1."""
        return FORMS[self.form](np.clip(bytes_ratio, 0.0, 1.0), self.slope, self.intercept)

    @property
    def gain(self) -> float:
        """F where all is sent over F where nothing is: by so much the odds of an offset grow in each iteration."""
        return (self.intercept + self.slope) / self.intercept

    def table(self) -> Floats:
        """Return F at equal steps of the bytes ratio from 0 to 1, shape (``TABLE_POINTS``,)."""
        return self(np.linspace(0.0, 1.0, TABLE_POINTS))


FAIR: Final = Aggressiveness(0.0, 1.0)
"""Constant aggressiveness: plain congestion control."""

DECREASING: Final = Aggressiveness(-1.75, 2.0)
"""The paper's counterexample, 2 - 1.75 x: the job that has sent most yields."""
