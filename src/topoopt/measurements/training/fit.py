"""Fits of a calibration of training to measured step times, and the answer that states how far it is off.

Misses are logarithms of predicted over measured times. The prior's strength is chosen by cross-validation.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.measurements.collectives import MeasuredCollectives, accelerator_collectives
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
from topoopt.measurements.training.run_groups import (
    Weights,
    families,
    is_labelled,
    paired_rows,
    size_classes,
    stack_parts,
)
from topoopt.transformers import (
    ATTENTIONS,
    ATTENTIONS_OF_RUNS,
    GATHERS,
    PARAMETERS,
    Bools,
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
    """Runs of any models and systems, one row each.

    Attributes
    ----------
    case : Case
        Under the neutral calibration.
    measured_s : array, shape (runs,)
        NaN where a run has no time.
    datasets : array of text
        Data set of each run.
    parameters : array
        Parameters of each run's model.
    family : array
        Family of each run; equal for runs of one job (``families`` in ``measurements/training/run_groups.py``).
    stacks : array
        Stack of each run; equal for runs of one model on one accelerator in one data set.
    labelled : array
        Whether the table labels the family of a run.
    """

    case: Case
    measured_s: Floats
    datasets: NDArray[np.str_]
    parameters: Floats
    family: Ints
    stacks: Ints
    labelled: Bools

    def __len__(self) -> int:
        return len(self.measured_s)

    def times(self, calibration: Calibration) -> StepTimes:
        """Return the step times of all runs."""
        return step_times(replace(self.case, calibration=calibration))

    def take(self, rows: Ints) -> "TimedRuns":
        """Return some runs."""
        columns = {name: column[rows] for name, column in vars(self).items() if name != "case"}
        return TimedRuns(self.case.take(rows), **columns)


NOISE = 0.06
"""Spread of measured around predicted times, in natural logarithms, against which the priors weigh."""
PAIR_NOISE = 0.03
"""The same for changes between the runs of a pair, in which common errors cancel."""
COLLECTIVE_NOISE = 0.15
STRENGTHS = (1.0, 3.0)
"""Strengths of the regularization towards the start to be tried; 1 is the parameter's ``spread``."""
FEWEST_RUNS = 2
FEWEST_TO_CHOOSE = 6
"""Runs below which the strength of the priors is 1, not chosen."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Constraints and measurements of a fit besides step times.

    Attributes
    ----------
    hold : tuple of str
        Constants that stay where they start.
    collectives : MeasuredCollectives
    """

    hold: tuple[str, ...] = ()
    collectives: MeasuredCollectives = field(default_factory=lambda: MeasuredCollectives(()))


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted calibration, the ``strength`` of its priors, and the errors by kind and data set."""

    calibration: Calibration
    strength: float
    errors: Mapping[str, Errors]


@dataclass(frozen=True, slots=True)
class FitRules:
    """Rules of a fit: its runs, their weights, and the start.

    Attributes
    ----------
    accelerators : tuple of str
        Accelerators whose runs are used, the calibration being for the first; those with most runs if empty.
    start : str
        Start of the fit and target of the regularization: ``neutral``, a name or a file; the accelerator's own
        calibration where empty.
    attention : str or None
        One of :data:`~topoopt.transformers.ATTENTIONS`; as the start has it where not given.
    weights : mapping
        Weight of each data set; 1 for those not named.
    strength : float or None
        Strength of the regularization; chosen by cross-validation where not given.
    hold : tuple of str
        Constants that stay where they start, which have evidence elsewhere.
    collectives : str
        A table of measured collectives, whose rows of the accelerators count, too; none where empty.
    seed : int
        Random seed of the held-out parts.
    """

    accelerators: tuple[str, ...] = ()
    start: str = ""
    attention: str | None = None
    weights: Mapping[str, float] | None = None
    strength: float | None = None
    hold: tuple[str, ...] = ()
    collectives: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.hold:
            check_known("hold", name, PARAMETERS)
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
    weights, evidence = Weights(rules.weights or {}), _evidence(rules, name)
    fit = calibrate(timed_runs(fitted_runs), start, weights, rules.seed, rules.strength, evidence)
    words = {
        "accelerator": [",".join(rules.accelerators)] if rules.accelerators else [],
        "start": [rules.start] if rules.start else [],
        "attention": [fit.calibration.attention],
        "weight": [f"{name}={weight:g}" for name, weight in (rules.weights or {}).items()],
        "strength": [f"{fit.strength:g}"],
        "collectives": [Path(rules.collectives).name] if rules.collectives else [],
    }
    flags = [f"--{word} {value}" for word, values in words.items() for value in values]
    provenance = {
        **fit.calibration.provenance,
        "command": " ".join(["topoopt llm calibrate", Path(path).name, *flags]),
        **({"held": ", ".join(rules.hold)} if rules.hold else {}),
        "runs": ", ".join(
            f"{name} {error.runs}" for name, error in fit.errors["in_sample"].items() if name != "all"
        ),
        "mape_percent": _listed(fit.errors["in_sample"]),
        "mape_percent_held_out": _listed(fit.errors["cross_validated"]),
        "mape_percent_size_held_out": _listed(fit.errors["leave_one_size_out"]),
        "mape_percent_stack_held_out": _listed(fit.errors["leave_one_stack_out"]),
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


def _evidence(rules: FitRules, name: str) -> Evidence:
    if not rules.collectives:
        return Evidence(rules.hold)
    names = {find_accelerator(word).name for word in rules.accelerators or (name,)}
    return Evidence(rules.hold, accelerator_collectives(rules.collectives, names))


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
    runs: TimedRuns,
    start: Calibration,
    weights: Weights,
    strength: float,
    guess: Calibration | None = None,
    evidence: Evidence | None = None,
) -> Calibration:
    """Return the calibration that explains runs, changes between pairs and collectives best, near ``start``.

    Parameters that do not affect these stay as in ``start``; see ``fit_constants`` in
    ``measurements/fit.py``.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) < FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS} runs with a time, got {len(runs)}")
    known = evidence or Evidence()
    root, logs = np.sqrt(weights.rows(runs.datasets)), np.log(runs.measured_s)
    table = runs.case.table
    accelerators, per_server = table.tp * table.cp * table.dp * table.pp, runs.case.machine.per_server
    first, second = paired_rows(runs.family, accelerators, runs.labelled, per_server)

    def misses(values: Mapping[str, float]) -> Floats:
        law = start.with_parameters(values)
        off = np.log(runs.times(law).iteration_time_s) - logs
        changes = root[second] * (off[second] - off[first])
        collectives = known.collectives.log_misses(law)
        return np.concatenate([root * off / NOISE, changes / PAIR_NOISE, collectives / COLLECTIVE_NOISE])

    begin = None if guess is None else guess.parameters()
    constants = [one for one in parameters_of(start, start) if one.name not in known.hold]
    return start.with_parameters(fit_constants(constants, misses, strength, begin))


def timed_runs(runs: Sequence[Run]) -> TimedRuns:
    """Return runs as columns."""
    shapes = stacked_shapes([run.model for run in runs])
    inside = shapes.dense_parameters + shapes.replicated_parameters + shapes.expert_parameters
    parameters = shapes.layers * inside + shapes.table_parameters
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
        parameters,
        families(runs),
        stack_parts(runs, size_classes(parameters)),
        is_labelled(runs),
    )


def calibrate(
    runs: TimedRuns,
    start: Calibration,
    weights: Weights,
    seed: int = 0,
    strength: float | None = None,
    evidence: Evidence | None = None,
) -> Fit:
    """Fit a calibration and measure it.

    Parameters
    ----------
    strength
        Strength of the priors; None for the one of ``STRENGTHS`` with the least held-out error.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) <= FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS + 1} runs with a time, got {len(runs)}")
    tried = STRENGTHS if len(runs) >= FEWEST_TO_CHOOSE else (1.0,)
    strengths = tried if strength is None else (strength,)
    fits = {one: fit(runs, start, weights, one, None, evidence) for one in strengths}

    def held_out_times(parts: Ints, one: float) -> Floats:
        return held_out(
            parts,
            lambda others: fit(runs.take(others), start, weights, one, fits[one], evidence),
            lambda law, own: runs.take(own).times(law).iteration_time_s,
        )

    def weighted_error(one: float) -> float:
        off = np.abs(np.log(unseen[one] / runs.measured_s))
        return float(np.average(off, weights=weights.rows(runs.datasets)))

    parts, sizes = random_parts(len(runs), seed), size_classes(runs.parameters)
    unseen = {one: held_out_times(parts, one) for one in fits}
    best = min(fits, key=weighted_error)
    times = {
        "before": runs.times(start).iteration_time_s,
        "in_sample": runs.times(fits[best]).iteration_time_s,
        "cross_validated": unseen[best],
    }
    errors = {kind: dataset_errors(runs, seconds) for kind, seconds in times.items()}
    for kind, groups in {"leave_one_size_out": sizes, "leave_one_stack_out": runs.stacks}.items():
        enough = len(runs) - np.bincount(groups).max() >= FEWEST_RUNS
        errors[kind] = dataset_errors(runs, held_out_times(groups, best)) if enough else {}
    return Fit(fits[best], best, errors)


def dataset_errors(runs: TimedRuns, times: Floats) -> dict[str, Error]:
    """Return the errors of each data set, and of ``all``."""
    off = 100 * (times / runs.measured_s - 1)
    return errors_by(zip(runs.datasets.tolist(), off.tolist(), strict=True), total=True)
