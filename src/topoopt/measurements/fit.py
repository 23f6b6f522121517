"""Fits of constants to measured runs, and errors of predictions: one search, one cross-validation, one score.

Robust least squares on the residuals of a model, with every constant regularized to its start: a handful of runs
changes only the constants that they constrain.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints, grouped
from topoopt.measurements.run_table import NotScored
from topoopt.transformers import Bounds, rounded


@dataclass(frozen=True, slots=True)
class Error:
    """Errors of some runs in percent of the measurements.

    Attributes
    ----------
    mape_percent, median_percent : float
        Mean and median of absolute errors.
    bias_percent : float
        Mean error.
    """

    runs: int
    mape_percent: float
    median_percent: float
    bias_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return the error with the common keys of all answers."""
        return {
            "runs": self.runs,
            "mape": self.mape_percent,
            "median": self.median_percent,
            "bias": self.bias_percent,
        }


Errors = Mapping[str, Error]
"""Errors by group: a data set, an engine, a quantity."""
EVERYTHING = "all"
"""The group of all runs."""
LawT = TypeVar("LawT")
CalibrationT = TypeVar("CalibrationT")
ROBUST_FROM = 1.5
"""Multiple of the spread beyond which misses count linearly: published tables have misprints and outliers."""
NOTHING = 1e-9
"""Smaller values are none: where a share ends at its lower bound, the search stops just above."""
BEGINNINGS = 4
"""Points around the start at which a fit begins, too."""
FOLDS = 10
ERROR_KINDS = {
    "before": "start",
    "in_sample": "in sample",
    "cross_validated": "held out",
    "leave_one_size_out": "size held out",
    "leave_one_stack_out": "stack held out",
}
"""Errors of a start, of the fit, on runs that it has not seen, on sizes of models or stacks that it has not seen."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a law: its start (also the target of the regularization), its bounds, and its fitted value."""

    name: str
    bounds: Bounds
    start: float
    value: float

    @property
    def source(self) -> str:
        """Whether the value is ``fitted``, or that of the ``start``, since the runs do not depend on it."""
        return "start" if self.value == self.start else "fitted"

    def position(self, value: float) -> float:
        """Return a value on the scale on which it is looked for: the logarithm, a share as it is."""
        return value if self.bounds.is_share else float(np.log(value))

    def at(self, position: float) -> float:
        """Return the value of a position, inside the bounds."""
        value, bounds = position if self.bounds.is_share else np.exp(position), self.bounds
        return float(np.clip(value, bounds.low, bounds.high)) if value > NOTHING else bounds.low


Values = Mapping[str, float]


def fit_constants(
    constants: Sequence[Constant],
    misses: Callable[[Values], Floats],
    strength: float = 1.0,
    guess: Values | None = None,
) -> dict[str, float]:
    """Return the values under which a law misses least, near where the constants start, rounded as in a file.

    Where the search stops, and on which processor, shows in further digits.

    The search begins at the start, and at :data:`BEGINNINGS` points around it that are the same every time, for there
    are several places where no small step is better; at ``guess`` alone, if there is one, which is over sooner.

    Parameters
    ----------
    misses
        Returns the misses of runs, over their spread, for given values.
    strength
        Weight that holds constants to their start; 1 is the spread of their bounds.
    """
    origin = np.array([one.position(one.start) for one in constants])
    low = np.array([one.position(one.bounds.low) for one in constants])
    high = np.array([one.position(one.bounds.high) for one in constants])
    spread = np.array([one.bounds.spread for one in constants])

    def values(vector: Floats) -> dict[str, float]:
        return {one.name: one.at(place) for one, place in zip(constants, vector.tolist(), strict=True)}

    def residuals(vector: Floats) -> Floats:
        return np.concatenate([misses(values(vector)), strength * (vector - origin) / spread])

    around = np.random.default_rng(0).normal(size=(BEGINNINGS, len(origin)))
    beginnings = [origin, *(origin + around * spread)]
    if guess is not None:
        beginnings = [np.array([one.position(guess[one.name]) for one in constants])]
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes half a second to import

    solutions = [
        least_squares(
            residuals,
            np.clip(begin, low + 1e-6 * spread, high - 1e-6 * spread),
            bounds=(low, high),
            loss="soft_l1",
            f_scale=ROBUST_FROM,
            x_scale=spread,
            max_nfev=100,
        )
        for begin in beginnings
    ]
    best = min(solutions, key=lambda one: float(one.cost))
    has_say = np.any(np.abs(np.asarray(best.jac)[: -len(constants)]) > NOTHING, axis=0)
    return {
        one.name: rounded(value) if said else one.start
        for one, value, said in zip(constants, values(best.x).values(), has_say, strict=True)
    }


def random_parts(runs: int, seed: int) -> Ints:
    """Return a random fold number per run, of :data:`FOLDS` folds or as many as there are runs."""
    parts = np.empty(runs, np.int64)
    parts[np.random.default_rng(seed).permutation(runs)] = np.arange(runs) % FOLDS
    return parts


def held_out(parts: Ints, fit: Callable[[Ints], LawT], predict: Callable[[LawT, Ints], Floats]) -> Floats:
    """Return held-out predictions: each run's by a model fitted to the other folds."""
    found = np.empty(len(parts))
    for part in np.unique(parts):
        own = np.flatnonzero(parts == part)
        found[own] = predict(fit(np.flatnonzero(parts != part)), own)
    return found


@shows_itself
@dataclass(frozen=True, eq=False)
class CalibrationFit(Generic[CalibrationT]):
    """A calibration fitted to a table of runs, and its errors.

    Attributes
    ----------
    runs_file : str
    runs : int
        Runs that it was fitted to.
    calibration : Calibration or ServingCalibration
    constants : tuple of Constant
    errors : mapping
        For kinds of :data:`ERROR_KINDS` the errors by group: data sets, or quantities. Empty where the runs beside
        those held out are too few for a fit.
    about : mapping
        Further facts of the fit, as plain values.
    not_scored : tuple of NotScored
    """

    runs_file: str
    runs: int
    calibration: CalibrationT
    constants: tuple[Constant, ...]
    errors: Mapping[str, Errors]
    about: Mapping[str, Any]
    not_scored: tuple[NotScored, ...]

    def to_frame(self) -> Frame:
        """Return the errors as a pandas table, a row for each group and kind of error."""
        return frame(
            {"dataset": name, "errors": kind, **error.to_json()}
            for kind, errors in self.errors.items()
            for name, error in errors.items()
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {
            **fields_of(self, "runs_file", "runs"),
            **self.about,
            **{kind: errors_json(errors) for kind, errors in self.errors.items()},
            "not_scored": [row.to_json() for row in self.not_scored],
        }


def percent_off(predicted: float, measured: float) -> float:
    """Return the relative error of a prediction, in percent of the measured value."""
    return 100 * (predicted / measured - 1)


def errors_by(errors: Iterable[tuple[str, float]], *, total: bool = False) -> dict[str, Error]:
    """Return the errors of each group, sorted by name, from pairs of a group and an error in percent.

    Parameters
    ----------
    total
        Whether the errors of all runs follow as :data:`EVERYTHING`.
    """
    pairs = list(errors)
    found = dict(sorted(grouped(pairs).items()))
    if total and pairs:
        found[EVERYTHING] = [error for _, error in pairs]
    return {
        name: Error(
            len(part), float(np.mean(np.abs(part))), float(np.median(np.abs(part))), float(np.mean(part))
        )
        for name, part in found.items()
    }


def errors_json(errors: Errors) -> dict[str, Any]:
    """Return errors by group as plain values."""
    return {name: error.to_json() for name, error in errors.items()}
