"""A calibration of training fitted to the runs of a table: which of them, from where, and what it was made of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.measurements.fit import CalibrationFit
from topoopt.measurements.score import Errors
from topoopt.measurements.training.fit import FEWEST_RUNS, Fit, Weights, calibrate, parameters_of, timed_runs
from topoopt.measurements.training.run import Run, Runs, read_runs, timed
from topoopt.transformers import ATTENTIONS, Calibration, are_alike, starting_calibration


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
    calibration = replace(fit.calibration, provenance=_provenance(fit, path, rules))
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


def _provenance(fit: Fit, path: str, rules: FitRules) -> dict[str, str]:
    """Return what a calibration was made of, and by which command."""
    words = {
        "accelerator": [",".join(rules.accelerators)] if rules.accelerators else [],
        "start": [rules.start] if rules.start else [],
        "attention": [fit.calibration.attention],
        "weight": [f"{name}={weight:g}" for name, weight in (rules.weights or {}).items()],
        "strength": [f"{fit.strength:g}"],
    }
    flags = [f"--{word} {value}" for word, values in words.items() for value in values]
    return {
        **fit.calibration.provenance,
        "command": " ".join(["topoopt llm calibrate", Path(path).name, *flags]),
        "runs": ", ".join(
            f"{name} {error.runs}" for name, error in fit.errors["in_sample"].items() if name != "all"
        ),
        "mape_percent": _listed(fit.errors["in_sample"]),
        "mape_percent_held_out": _listed(fit.errors["cross_validated"]),
        "mape_percent_size_held_out": _listed(fit.errors["leave_one_size_out"]),
    }


def _listed(errors: Errors) -> str:
    return ", ".join(f"{name} {error.mape_percent:.1f}" for name, error in errors.items()) or "too few runs"
