"""How far a calibration is off: on the runs that it was fitted to, on held-out runs, on held-out sizes of models."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.fit import FEWEST_RUNS, STRENGTHS, Weights, fit
from topoopt.measurements.training.timed_runs import TimedRuns
from topoopt.transformers import Calibration

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
