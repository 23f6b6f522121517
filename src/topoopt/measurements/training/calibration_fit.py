"""The noun CalibrationFit: a calibration that was fitted to a table of runs, and how far it is off."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.measurements.training.fit import FEWEST_RUNS, Error, Fit, Weights, calibrate, timed_runs
from topoopt.measurements.training.run import Run, Runs, read_runs
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


@shows_itself
@dataclass(frozen=True, eq=False)
class CalibrationFit:
    """A calibration, the runs that it was fitted to, and its errors.

    Attributes
    ----------
    runs_file : str
    runs : Runs
        All of the table.
    fitted_runs : tuple of Run
        Those that it was fitted to.
    start : Calibration
    fit : Fit
        Its calibration says what it was made of, and by which command.
    """

    runs_file: str
    runs: Runs
    fitted_runs: tuple[Run, ...]
    start: Calibration
    fit: Fit

    @property
    def calibration(self) -> Calibration:
        """What was fitted."""
        return self.fit.calibration

    @property
    def errors(self) -> Mapping[str, Mapping[str, Error]]:
        """Errors by data set, for each of :data:`~topoopt.measurements.training.ERROR_KINDS`."""
        return self.fit.errors

    @property
    def other_runs(self) -> dict[str, int]:
        """How many runs of other accelerators the table has."""
        places = {run.place for run in self.fitted_runs}
        return dict(Counter(run.system.accelerator for run in self.runs.timed if run.place not in places))

    def to_frame(self) -> Frame:
        """Return the errors as a pandas table, a row for each data set and kind of error.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(
            {"dataset": name, "errors": kind, **asdict(error)}
            for kind, errors in self.errors.items()
            for name, error in errors.items()
        )

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        calibration = self.calibration
        return {
            "runs_file": self.runs_file,
            "runs": len(self.fitted_runs),
            "other_runs": self.other_runs,
            "not_modelled": [{"id": row.name, "reason": row.reason} for row in self.runs.not_modelled],
            "accelerator": calibration.accelerator,
            "started_from": self.start.provenance["started_from"],
            "strength": self.fit.strength,
            "attention": calibration.attention,
            "parameters": calibration.parameters(),
            **{
                kind: {name: asdict(one) for name, one in errors.items()}
                for kind, errors in self.errors.items()
            },
            "provenance": dict(calibration.provenance),
        }


def fit_to_runs(path: str, rules: FitRules) -> CalibrationFit:
    """Fit a calibration to the runs of a CSV file, and measure it on runs that it has not seen.

    Raises
    ------
    InvalidInput
        If the file is no table of runs, or has too few of the accelerators.
    """
    runs = read_runs(path)
    name, fitted_runs = _runs_to_fit(runs, rules.accelerators, path)
    known = {run.dataset for run in fitted_runs}
    for dataset in rules.weights or {}:
        check_known("weight", dataset, known)
    start = starting_calibration(rules.start or name, name, rules.attention)
    fit = calibrate(timed_runs(fitted_runs), start, Weights(rules.weights or {}), rules.seed, rules.strength)
    return CalibrationFit(path, runs, fitted_runs, start, _with_provenance(fit, path, rules))


def _runs_to_fit(runs: Runs, accelerators: Sequence[str], place: str) -> tuple[str, tuple[Run, ...]]:
    """Return the accelerator that is calibrated, and its timed runs.

    Left out are those of adapters, which judge, and those of models with a recurrence where there are others: nothing
    that is fitted is about its kernels, whose times would go into the others'.
    """
    whole = [run for run in runs.timed if run.configuration.adapter_rank == 0]
    timed = [run for run in whole if not run.model.recurrent_layers] or whole
    counts = Counter(run.system.accelerator for run in timed)
    if not counts:
        why = f"; the first is not modelled: {runs.not_modelled[0].reason}" if runs.not_modelled else ""
        raise InvalidInput(f"{place}: no run with a time{why}")
    known = sorted(counts)
    if not accelerators:
        most = max(known, key=lambda name: counts[name])
        alike = tuple(run for run in timed if are_alike(run.system.accelerator, most))
        if len(alike) <= FEWEST_RUNS < len(timed):
            listed = ", ".join(f"{counts[name]} of {name}" for name in known)
            raise InvalidInput(
                f"{place}: needs {FEWEST_RUNS + 1} runs with a time on one accelerator or its relatives; it has "
                f"{listed}"
            )
        return most, alike
    names = [find_accelerator(word).name for word in accelerators]
    of_these = tuple(run for run in timed if run.system.accelerator in names)
    if not of_these:
        raise InvalidInput(
            f"accelerator: no timed run of {', '.join(names)} in {place}; it has {', '.join(known)}"
        )
    return names[0], of_these


def _with_provenance(fit: Fit, path: str, rules: FitRules) -> Fit:
    """Return the fit with a calibration that says what it was made of, and by which command."""
    words = {
        "accelerator": [",".join(rules.accelerators)] if rules.accelerators else [],
        "start": [rules.start] if rules.start else [],
        "attention": [fit.calibration.attention],
        "weight": [f"{name}={weight:g}" for name, weight in (rules.weights or {}).items()],
        "strength": [f"{fit.strength:g}"],
    }
    flags = [f"--{word} {value}" for word, values in words.items() for value in values]
    made_of = {
        **fit.calibration.provenance,
        "command": " ".join(["topoopt llm calibrate", Path(path).name, *flags]),
        "runs": ", ".join(
            f"{name} {error.runs}" for name, error in fit.errors["in_sample"].items() if name != "all"
        ),
        "mape_percent": _listed(fit.errors["in_sample"]),
        "mape_percent_held_out": _listed(fit.errors["cross_validated"]),
        "mape_percent_size_held_out": _listed(fit.errors["leave_one_size_out"]),
    }
    return replace(fit, calibration=replace(fit.calibration, provenance=made_of))


def _listed(errors: Mapping[str, Error]) -> str:
    return ", ".join(f"{name} {error.mape_percent:.1f}" for name, error in errors.items()) or "too few runs"
