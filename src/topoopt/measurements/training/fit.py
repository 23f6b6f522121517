"""Fits of a calibration of training to measured step times, and the answer that states how far it is off.

Misses are logarithms of predicted over measured times. The prior's strength is chosen by cross-validation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.measurements.fit import (
    CalibrationFit,
    Constant,
    Error,
    Errors,
    errors_by,
    fit_constants,
    held_out,
    random_parts,
)
from topoopt.measurements.training.run import Run, Runs, read_runs, timed
from topoopt.transformers import (
    ATTENTIONS,
    ATTENTIONS_OF_RUNS,
    GATHERS,
    PARAMETERS,
    Calibration,
    Case,
    StepTimes,
    are_alike,
    configuration_table,
    stacked_machines,
    stacked_shapes,
    starting_calibration,
    step_times,
    unfused_bits,
)


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """Runs of any models and systems, a row each.

    Attributes
    ----------
    case : Case
        Under the neutral calibration.
    measured_s : array, shape (runs,)
        NaN where a run has no time.
    datasets : array of text
        Of each run.
    parameters : array
        Parameters of each run's model.
    """

    case: Case
    measured_s: Floats
    datasets: NDArray[np.str_]
    parameters: Floats

    def __len__(self) -> int:
        return len(self.measured_s)

    def times(self, calibration: Calibration) -> StepTimes:
        """Return the step times of all runs."""
        return step_times(replace(self.case, calibration=calibration))

    def take(self, rows: Ints) -> "TimedRuns":
        """Return some runs."""
        columns = self.measured_s[rows], self.datasets[rows], self.parameters[rows]
        return TimedRuns(self.case.take(rows), *columns)


NOISE = 0.06
"""Spread of measured around predicted times, in natural logarithms, against which the priors weigh."""
STRENGTHS = (1.0, 3.0)
"""How strongly a parameter is held back to its start, to be tried; 1 is its ``spread``."""
FEWEST_RUNS = 2
FEWEST_TO_CHOOSE = 6
"""Runs below which the strength of the priors is 1, not chosen."""


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


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted calibration, the ``strength`` of its priors, and the errors by kind and data set."""

    calibration: Calibration
    strength: float
    errors: Mapping[str, Errors]


@dataclass(frozen=True, slots=True)
class FitRules:
    """Which runs a calibration is fitted to, from where, and how they weigh.

    Attributes
    ----------
    accelerators : tuple of str
        Whose runs are taken, the calibration being for the first; those with most runs where empty.
    start : str
        Where the fit starts, and what it is held back to: ``neutral``, a name or a file; the accelerator's own
        calibration where empty.
    attention : str or None
        One of :data:`~topoopt.transformers.ATTENTIONS`; as the start has it where not given.
    weights : mapping
        How much a data set counts; 1 for those not named.
    strength : float or None
        Of the start; chosen by cross-validation where not given.
    seed : int
        Of the held-out parts.
    """

    accelerators: tuple[str, ...] = ()
    start: str = ""
    attention: str | None = None
    weights: Mapping[str, float] | None = None
    strength: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.attention is not None:
            check_known("attention", self.attention, ATTENTIONS)
        if self.strength is not None and not 0 < self.strength < float("inf"):
            raise InvalidInput(f"strength: must be positive, got {self.strength:g}")
        if self.seed < 0:
            raise InvalidInput(f"seed: expected an integer >= 0, got {self.seed}")
        for name, weight in (self.weights or {}).items():
            if not 0 < weight < float("inf"):
                raise InvalidInput(
                    f'weight: expected DATASET=X with a positive number, got "{name}={weight:g}"'
                )


def fit_to_runs(path: str, rules: FitRules) -> CalibrationFit[Calibration]:
    """Fit a calibration to the runs of a CSV file, and measure it on runs that it has not seen.

    Raises
    ------
    InvalidInput
        If the file is no table of runs, or has too few of the accelerators.
    """
    runs = read_runs(path)
    name, fitted_runs = runs_to_fit(runs, rules.accelerators, path)
    known = {run.row.dataset for run in fitted_runs}
    for dataset in rules.weights or {}:
        check_known("weight", dataset, known)
    start = starting_calibration(rules.start or name, name, rules.attention)
    fit = calibrate(timed_runs(fitted_runs), start, Weights(rules.weights or {}), rules.seed, rules.strength)
    words = {
        "accelerator": [",".join(rules.accelerators)] if rules.accelerators else [],
        "start": [rules.start] if rules.start else [],
        "attention": [fit.calibration.attention],
        "weight": [f"{name}={weight:g}" for name, weight in (rules.weights or {}).items()],
        "strength": [f"{fit.strength:g}"],
    }
    flags = [f"--{word} {value}" for word, values in words.items() for value in values]
    provenance = {
        **fit.calibration.provenance,
        "command": " ".join(["topoopt llm calibrate", Path(path).name, *flags]),
        "runs": ", ".join(
            f"{name} {error.runs}" for name, error in fit.errors["in_sample"].items() if name != "all"
        ),
        "mape_percent": _listed(fit.errors["in_sample"]),
        "mape_percent_held_out": _listed(fit.errors["cross_validated"]),
        "mape_percent_size_held_out": _listed(fit.errors["leave_one_size_out"]),
    }
    calibration = replace(fit.calibration, provenance=provenance)
    rows = {run.row for run in fitted_runs}
    about = {
        "other_runs": dict(Counter(run.system.accelerator for run in timed(runs) if run.row not in rows)),
        "accelerator": calibration.accelerator,
        "started_from": start.provenance["started_from"],
        "strength": fit.strength,
        "attention": calibration.attention,
        "parameters": calibration.parameters(),
        "provenance": dict(calibration.provenance),
    }
    constants = parameters_of(start, calibration)
    return CalibrationFit(path, len(rows), calibration, constants, fit.errors, about, runs.not_scored)


def runs_to_fit(runs: Runs, accelerators: Sequence[str], place: str) -> tuple[str, tuple[Run, ...]]:
    """Return the accelerator that is calibrated, and its timed runs.

    Left out are those of adapters, which judge, and those of models with a recurrence where there are others: nothing
    that is fitted is about its kernels, whose times would go into the others'.
    """
    whole = [run for run in timed(runs) if run.configuration.adapter_rank == 0]
    found = [run for run in whole if not run.model.recurrent_layers] or whole
    counts = Counter(run.system.accelerator for run in found)
    if not counts:
        why = f"; the first is not modelled: {runs.not_scored[0].reason}" if runs.not_scored else ""
        raise InvalidInput(f"{place}: no run with a time{why}")
    known = sorted(counts)
    if not accelerators:
        most = max(known, key=lambda name: counts[name])
        alike = tuple(run for run in found if are_alike(run.system.accelerator, most))
        if len(alike) <= FEWEST_RUNS < len(found):
            listed = ", ".join(f"{counts[name]} of {name}" for name in known)
            raise InvalidInput(
                f"{place}: needs {FEWEST_RUNS + 1} runs with a time on one accelerator or its relatives; it has "
                f"{listed}"
            )
        return most, alike
    names = [find_accelerator(word).name for word in accelerators]
    of_these = tuple(run for run in found if run.system.accelerator in names)
    if not of_these:
        raise InvalidInput(
            f"accelerator: no timed run of {', '.join(names)} in {place}; it has {', '.join(known)}"
        )
    return names[0], of_these


def _listed(errors: Errors) -> str:
    return ", ".join(f"{name} {error.mape_percent:.1f}" for name, error in errors.items()) or "too few runs"


def parameters_of(start: Calibration, fitted: Calibration) -> tuple[Constant, ...]:
    """Return the parameters of a calibration as constants of a fit that starts at another."""
    values = fitted.parameters()
    return tuple(
        Constant(name, PARAMETERS[name], value, values[name]) for name, value in start.parameters().items()
    )


def fit(
    runs: TimedRuns, start: Calibration, weights: Weights, strength: float, guess: Calibration | None = None
) -> Calibration:
    """Return the calibration that explains the runs best, near ``start``.

    Parameters in which the runs have no say stay as they are in ``start``; see
    ``fit_constants`` in ``measurements/fit.py``.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) < FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS} runs with a time, got {len(runs)}")
    scale, logs = np.sqrt(weights.rows(runs.datasets)) / NOISE, np.log(runs.measured_s)

    def misses(values: Mapping[str, float]) -> Floats:
        times = runs.times(start.with_parameters(values)).iteration_time_s
        return np.asarray(scale * (np.log(times) - logs))

    begin = None if guess is None else guess.parameters()
    return start.with_parameters(fit_constants(parameters_of(start, start), misses, strength, begin))


def timed_runs(runs: Sequence[Run]) -> TimedRuns:
    """Return runs as columns."""
    shapes = stacked_shapes([run.model for run in runs])
    inside = shapes.dense_parameters + shapes.replicated_parameters + shapes.expert_parameters
    case = Case(
        shapes,
        configuration_table([run.configuration for run in runs]),
        stacked_machines([run.system for run in runs]),
        starting_calibration("neutral", runs[0].system.accelerator),
        np.array([ATTENTIONS_OF_RUNS.index(run.attention or "auto") for run in runs], np.int64),
        np.array([unfused_bits(run.unfused) if run.unfused else -1 for run in runs], np.int64),
        np.array([GATHERS.index(run.gathers) if run.gathers else -1 for run in runs], np.int64),
    )
    return TimedRuns(
        case,
        np.array([run.measured_s for run in runs], np.float64),
        np.array([run.row.dataset for run in runs], np.str_),
        shapes.layers * inside + shapes.table_parameters,
    )


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
    tried = STRENGTHS if len(runs) >= FEWEST_TO_CHOOSE else (1.0,)
    fits = {one: fit(runs, start, weights, one) for one in (tried if strength is None else (strength,))}

    def held_out_times(parts: Ints, one: float) -> Floats:
        return held_out(
            parts,
            lambda others: fit(runs.take(others), start, weights, one, fits[one]),
            lambda law, own: runs.take(own).times(law).iteration_time_s,
        )

    def weighted_error(one: float) -> float:
        off = np.abs(np.log(unseen[one] / runs.measured_s))
        return float(np.average(off, weights=weights.rows(runs.datasets)))

    parts, sizes = random_parts(len(runs), seed), size_parts(runs)
    unseen = {one: held_out_times(parts, one) for one in fits}
    best = min(fits, key=weighted_error)
    times = {
        "before": runs.times(start).iteration_time_s,
        "in_sample": runs.times(fits[best]).iteration_time_s,
        "cross_validated": unseen[best],
    }
    errors = {kind: dataset_errors(runs, seconds) for kind, seconds in times.items()}
    enough = len(runs) - np.bincount(sizes).max() >= FEWEST_RUNS
    errors["leave_one_size_out"] = dataset_errors(runs, held_out_times(sizes, best)) if enough else {}
    return Fit(fits[best], best, errors)


def size_parts(runs: TimedRuns) -> Ints:
    """Return parts, numbered, of runs whose models have about as many parameters: within a factor of 2**0.5."""
    return np.unique(np.round(2 * np.log2(runs.parameters)), return_inverse=True)[1]


def dataset_errors(runs: TimedRuns, times: Floats) -> dict[str, Error]:
    """Return the errors of each data set, and of ``all``."""
    off = 100 * (times / runs.measured_s - 1)
    return errors_by(zip(runs.datasets.tolist(), off.tolist(), strict=True), total=True)
