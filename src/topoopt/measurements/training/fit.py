"""Fitting a calibration to measured step times.

Robust least squares on the logarithms of predicted over measured times, with every parameter held back to where it
starts: a handful of runs moves only what they have a say in. The prior's strength is chosen by cross-validation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.run import Run
from topoopt.transformers import (
    ATTENTIONS_OF_RUNS,
    GATHERS,
    PARAMETERS,
    Calibration,
    Case,
    ConfigurationTable,
    Machine,
    Shapes,
    StepTimes,
    configuration_table,
    rounded,
    stacked_machines,
    stacked_shapes,
    step_times,
    take_rows,
    unfused_bits,
)


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """Runs of any models and systems, a row each.

    Attributes
    ----------
    measured_s : array, shape (runs,)
        NaN where a run has no time.
    datasets : array of text
        Of each run.
    parameters : array
        Parameters of each run's model.
    attention : array
        Place in :data:`~topoopt.transformers.ATTENTIONS_OF_RUNS` of how attention ran; ``auto`` where a run does not
        say.
    unfused, gathers : array
        As in :class:`~topoopt.transformers.step_time.case.Case`; -1 where a run does not say.
    """

    shapes: Shapes
    table: ConfigurationTable
    machine: Machine
    measured_s: Floats
    datasets: NDArray[np.str_]
    parameters: Floats
    attention: Ints
    unfused: Ints
    gathers: Ints

    def __len__(self) -> int:
        return len(self.measured_s)

    def times(self, calibration: Calibration) -> StepTimes:
        """Return the step times of all runs."""
        how = self.attention, self.unfused, self.gathers
        return step_times(Case(self.shapes, self.table, self.machine, calibration, *how))

    def take(self, rows: Ints) -> "TimedRuns":
        """Return some runs."""
        return take_rows(self, rows)


NOISE = 0.06
"""Spread of measured around predicted times, in natural logarithms, against which the priors weigh."""
STRENGTHS = (1.0, 3.0)
"""How strongly a parameter is held back to its start, to be tried; 1 is its ``spread``."""
ROBUST_FROM = 1.5
"""Errors beyond so many times :data:`NOISE` count linearly: published tables have misprints and odd days."""
NOTHING = 1e-9
"""Smaller values are none: where a share ends at its lower bound, the search stops just above."""
BEGINNINGS = 4
"""Points around the start at which a fit begins, too."""
FEWEST_RUNS = 2


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each data set counts, however many runs it has.

    Attributes
    ----------
    of : mapping from a data set to a factor
        1 for those not named.
    """

    of: Mapping[str, float]

    def rows(self, datasets: Iterable[str]) -> Floats:
        """Return the weight of each run's squared error; they sum to the number of runs."""
        names = list(datasets)
        counts = Counter(names)
        share = {name: self.of.get(name, 1.0) / count for name, count in counts.items()}
        weights = np.array([share[name] for name in names], np.float64)
        scale = len(weights) / float(weights.sum())
        return weights * scale


def fit(
    runs: TimedRuns, start: Calibration, weights: Weights, strength: float, guess: Calibration | None = None
) -> Calibration:
    """Return the calibration that explains the runs best, near ``start``.

    The search begins at ``start``, and at :data:`BEGINNINGS` points around it that are the same every time, for there
    are several places where no small step is better; at ``guess`` alone, if there is one, which is over sooner.
    Parameters in which the runs have no say stay as they are in ``start``. The others are rounded as in a file: where
    the search stops, and on which processor, shows in further digits.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) < FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS} runs with a time, got {len(runs)}")
    origin = _to_vector(start.parameters())
    low = _to_vector({name: bounds.low for name, bounds in PARAMETERS.items()})
    high = _to_vector({name: bounds.high for name, bounds in PARAMETERS.items()})
    spread = np.array([bounds.spread for bounds in PARAMETERS.values()])
    scale = np.sqrt(weights.rows(runs.datasets)) / NOISE
    logs = np.log(runs.measured_s)

    def residuals(vector: Floats) -> Floats:
        times = runs.times(_from_vector(vector, start)).iteration_time_s
        return np.concatenate([scale * (np.log(times) - logs), strength * (vector - origin) / spread])

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
        for begin in _beginnings(origin, spread, guess)
    ]
    best = min(solutions, key=lambda one: float(one.cost))
    has_say = np.any(np.abs(np.asarray(best.jac)[: len(runs)]) > NOTHING, axis=0)
    fitted = _from_vector(best.x, start).parameters()
    said = {name: rounded(fitted[name]) for name, says in zip(PARAMETERS, has_say, strict=True) if says}
    return start.with_parameters(said)


def _beginnings(origin: Floats, spread: Floats, guess: Calibration | None) -> list[Floats]:
    if guess is not None:
        return [_to_vector(guess.parameters())]
    around = np.random.default_rng(0).normal(size=(BEGINNINGS, len(origin)))
    return [origin, *(origin + around * spread)]


def _to_vector(parameters: Mapping[str, float]) -> Floats:
    """Return the parameters on the scales on which they are looked for: logarithms, shares as they are."""
    return np.array(
        [
            parameters[name] if bounds.is_share else np.log(parameters[name])
            for name, bounds in PARAMETERS.items()
        ]
    )


def _from_vector(vector: Floats, start: Calibration) -> Calibration:
    values = {}
    for (name, bounds), value in zip(PARAMETERS.items(), vector, strict=True):
        natural = value if bounds.is_share else np.exp(value)
        values[name] = float(np.clip(natural, bounds.low, bounds.high)) if natural > NOTHING else bounds.low
    return start.with_parameters(values)


def timed_runs(runs: Sequence[Run]) -> TimedRuns:
    """Return runs as columns."""
    shapes = stacked_shapes([run.model for run in runs])
    inside = shapes.dense_parameters + shapes.replicated_parameters + shapes.expert_parameters
    return TimedRuns(
        shapes,
        configuration_table([run.configuration for run in runs]),
        stacked_machines([run.system for run in runs]),
        np.array([run.measured_s for run in runs], np.float64),
        np.array([run.dataset for run in runs], np.str_),
        shapes.layers * inside + shapes.table_parameters,
        np.array([ATTENTIONS_OF_RUNS.index(run.attention or "auto") for run in runs], np.int64),
        np.array([unfused_bits(run.unfused) if run.unfused else -1 for run in runs], np.int64),
        np.array([GATHERS.index(run.gathers) if run.gathers else -1 for run in runs], np.int64),
    )


ERROR_KINDS = ("before", "in_sample", "cross_validated", "leave_one_size_out")
"""Errors of a start, of the fit, on runs that it has not seen, on sizes of models that it has not seen."""
FOLDS = 10
FEWEST_TO_CHOOSE = 6
"""Runs below which the strength of the priors is 1, not chosen."""


@dataclass(frozen=True, slots=True)
class Error:
    """Of one data set: number of runs, mean absolute error and mean error in percent of the measured time."""

    runs: int
    mape_percent: float
    bias_percent: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted calibration; ``strength`` is that of its priors.

    Attributes
    ----------
    errors : mapping
        For each of :data:`ERROR_KINDS` from a data set to its Error; ``all`` is every run. The last is empty where
        the runs beside those of one size are too few for a fit.
    """

    calibration: Calibration
    strength: float
    errors: Mapping[str, Mapping[str, Error]]


def calibrate(
    runs: TimedRuns, start: Calibration, weights: Weights, seed: int = 0, strength: float | None = None
) -> Fit:
    """Fit a calibration and measure it.

    Parameters
    ----------
    strength
        Of the priors; None for the one of ``STRENGTHS`` with the least
        held-out error.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) <= FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS + 1} runs with a time, got {len(runs)}")
    folds = random_folds(len(runs), min(FOLDS, len(runs)), seed)
    fits = {one: fit(runs, start, weights, one) for one in _strengths(len(runs), strength)}
    held_out = {one: held_out_times(runs, start, weights, one, folds, near) for one, near in fits.items()}
    best = min(held_out, key=lambda one: _weighted_error(runs, weights, held_out[one]))
    fitted, sizes = fits[best], size_folds(runs)
    enough = all(len(runs) - len(size) >= FEWEST_RUNS for size in sizes)
    times = {
        "before": runs.times(start).iteration_time_s,
        "in_sample": runs.times(fitted).iteration_time_s,
        "cross_validated": held_out[best],
    }
    if enough:
        times["leave_one_size_out"] = held_out_times(runs, start, weights, best, sizes, fitted)
    errors = {kind: dataset_errors(runs, times[kind]) if kind in times else {} for kind in ERROR_KINDS}
    return Fit(fitted, best, errors)


def random_folds(runs: int, folds: int, seed: int) -> tuple[Ints, ...]:
    """Return the runs of each fold."""
    order = np.random.default_rng(seed).permutation(runs)
    return tuple(np.sort(order[first::folds]) for first in range(folds))


def size_folds(runs: TimedRuns) -> tuple[Ints, ...]:
    """Return folds of runs whose models have about as many parameters: within a factor of 2**0.5."""
    sizes = np.round(2 * np.log2(runs.parameters))
    return tuple(np.flatnonzero(sizes == size) for size in np.unique(sizes))


def held_out_times(
    runs: TimedRuns,
    start: Calibration,
    weights: Weights,
    strength: float,
    folds: Iterable[Ints],
    guess: Calibration | None = None,
) -> Floats:
    """Return the time of each run by a calibration that was fitted to the other folds."""
    times = np.empty(len(runs))
    everything = np.arange(len(runs))
    for fold in folds:
        others = np.setdiff1d(everything, fold)
        fitted = fit(runs.take(others), start, weights, strength, guess)
        times[fold] = runs.take(fold).times(fitted).iteration_time_s
    return times


def dataset_errors(runs: TimedRuns, times: Floats) -> dict[str, Error]:
    """Return the errors of each data set, and of ``all``."""
    off = 100 * (times / runs.measured_s - 1)
    parts = {str(name): off[runs.datasets == name] for name in np.unique(runs.datasets)}
    return {
        name: Error(len(part), float(np.abs(part).mean()), float(part.mean()))
        for name, part in {**parts, "all": off}.items()
    }


def _strengths(runs: int, strength: float | None) -> Sequence[float]:
    if strength is not None:
        return (strength,)
    return STRENGTHS if runs >= FEWEST_TO_CHOOSE else (1.0,)


def _weighted_error(runs: TimedRuns, weights: Weights, times: Floats) -> float:
    return float(np.average(np.abs(np.log(times / runs.measured_s)), weights=weights.rows(runs.datasets)))
