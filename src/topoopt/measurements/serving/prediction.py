"""Predictions of a table of measured runs: errors by quantity, and rows without a score."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topoopt.base.answers import shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.inference import (
    CONSTANTS,
    DEFAULT_ENGINE,
    cache_copies,
    constants_of_logs,
    engine_family,
    model_kind,
    request_cache_bytes,
    shipped_logs,
    transfer_law,
)
from topoopt.measurements.fit import (
    EVERYTHING,
    FOLDS,
    CalibrationFit,
    Constant,
    Error,
    Errors,
    errors_by,
    errors_json,
    fit_constants,
    held_out,
    percent_off,
    random_parts,
)
from topoopt.measurements.run_table import NotScored, RunTable
from topoopt.measurements.serving.columns import (
    Observations,
    expected,
    observations,
    served_columns,
    why_not_scored,
)
from topoopt.measurements.serving.run import ServedRun, read_runs
from topoopt.schema.files import Strict, read_json, validated, write_atomically
from topoopt.transformers import Bounds

FACTOR = Bounds(1e-6, 1e6, 0.35, "")
"""Factors on the shipped constants; the spread is by how much those of one's own stack are expected to differ."""
FEWEST = 2
"""Measured numbers without which nothing is fitted."""


@dataclass(frozen=True, slots=True)
class ServingCalibration:
    """Factors on the shipped constants.

    Attributes
    ----------
    name : str
    engines, accelerators : tuple of str
        Engines and accelerators of the runs it was fitted to; for others, shipped constants are used unchanged.
    """

    name: str
    factors: Mapping[str, float] = field(hash=False)
    engines: tuple[str, ...]
    accelerators: tuple[str, ...]

    def corrected(self, runs: Sequence[ServedRun], logs: Floats) -> Floats:
        """Return logarithms of constants of runs with the factors of the runs of its stack."""
        stacks = [run.stack for run in runs]
        ours = [
            engine_family(one.settings.engine) in self.engines and one.accelerator.name in self.accelerators
            for one in stacks
        ]
        return logs + np.where(np.array(ours)[:, None], factor_logs(self.factors), 0.0)


class _File(Strict):
    engines: list[str]
    accelerators: list[str]
    factors: dict[str, float]


GROUPS: Mapping[str, Callable[[ServedRun], str]] = {
    "engine": lambda run: run.stack.settings.engine,
    "accelerator": lambda run: run.stack.accelerator.name,
    "model_kind": lambda run: model_kind(run.stack.model),
    "mode": lambda run: run.mode,
    "dataset": lambda run: run.row.dataset,
    "model": lambda run: run.stack.model.name,
}
"""Groups by which errors are given."""


@dataclass(frozen=True, slots=True)
class RunPrediction:
    """Prediction of one run, by quantity: seconds, tokens per second, bytes; and the errors of scored ones."""

    run: ServedRun
    values: Mapping[str, float]
    error_percent: Mapping[str, float]


@shows_itself
@dataclass(frozen=True)
class PredictedServing:
    """A table of measured runs with predictions.

    Attributes
    ----------
    calibration : str
        Calibration used: ``shipped``, or the user's file.
    predictions : tuple of RunPrediction
    not_scored : tuple of NotScored
        Rows, and quantities of rows, without a score, each with its reason.
    """

    table: RunTable
    calibration: str
    predictions: tuple[RunPrediction, ...]
    not_scored: tuple[NotScored, ...]

    @property
    def quantities(self) -> tuple[str, ...]:
        """Scored quantities, in order."""
        there = {name for one in self.predictions for name in one.error_percent}
        return tuple(name for name in SCORED if name in there)

    def error(self, quantity: str) -> Error:
        """Return the error of a quantity over all runs that are scored."""
        return self.errors_by(quantity)[EVERYTHING]

    def errors_by(self, quantity: str, group: str = "") -> Errors:
        """Return the errors of a quantity by one of :data:`GROUPS`; of all runs together where none is named."""
        name_of = GROUPS[group] if group else lambda run: EVERYTHING
        scored = (one for one in self.predictions if quantity in one.error_percent)
        return errors_by((name_of(one.run), one.error_percent[quantity]) for one in scored)

    def to_json(self) -> dict[str, Any]:
        """Return errors by quantity, unscored rows, and every prediction."""
        return {
            "runs_file": self.table.path,
            "calibration": self.calibration,
            **{
                name: {
                    **self.error(name).to_json(),
                    "by": {group: errors_json(self.errors_by(name, group)) for group in GROUPS},
                }
                for name in self.quantities
            },
            "unknown_columns": list(self.table.unknown_columns),
            "not_scored": [row.to_json() for row in self.not_scored],
            "predictions": [_row(one) for one in self.predictions],
        }


SCORED = (
    *("tpot", "ttft", "prefill", "e2e", "offline_throughput", "throughput", "prompt_rate", "kv_transfer"),
    "kv_bytes",
)
"""Quantities in the order in which they are shown; throughput of modes other than ``offline`` is by itself."""
UNITS = {"offline_throughput": "_tokens_per_s", "throughput": "_tokens_per_s", "prompt_rate": "_tokens_per_s"}
"""Suffixes of predictions in JSON; the others are seconds, but ``kv_bytes``."""
TEMPLATE_TOKENS = {"vllm": 14}
"""Tokens of a chat template that are moved beside those of the prompt (Mooncake's table of vLLM)."""
NOMINAL_BYTES_PER_S = 200e9
"""Bandwidth of the routes on which transfers were measured: eight ports, or four of 400 Gb/s (Mooncake)."""


def predict_served_runs(path: str, own: ServingCalibration | None = None) -> PredictedServing:
    """Return predictions of a table of measured runs.

    Raises
    ------
    InvalidInput
        If the file is no such table.
    """
    found = read_runs(path)
    runs, missed, predictions = found.runs, list(found.not_scored), []
    values: Mapping[str, Floats] = {}
    if runs:
        logs = shipped_logs([run.stack for run in runs])
        law = constants_of_logs(own.corrected(runs, logs) if own else logs)
        values = expected(served_columns(runs), law)
    for place, run in enumerate(runs):
        mine = {name: float(column[place]) for name, column in values.items() if np.isfinite(column[place])}
        if np.isnan(run.cache_bytes):
            moved = {}
        else:
            name = run.stack.settings.engine
            tokens = int(run.prompt) + TEMPLATE_TOKENS.get(name, 0)
            once = request_cache_bytes(run.stack.model, tokens, run.stack.settings.kv_precision)
            size = once * cache_copies(run.stack.model, run.prefill.tensor)
            engine = name if name in ("vllm", "sglang") else DEFAULT_ENGINE
            moved = {
                "kv_bytes": size,
                "kv_transfer": transfer_law(engine).transfer_s(size / NOMINAL_BYTES_PER_S),
            }
        mine = _named(run, mine) | moved
        errors = {}
        for name, measured in _named(run, {**run.measured, "kv_bytes": run.cache_bytes}).items():
            why = why_not_scored(run, "throughput" if name.endswith("throughput") else name)
            if why:
                missed.append(NotScored(run.row, f"{name}: {why}"))
            elif name in mine and measured > 0:
                errors[name] = percent_off(mine[name], measured)
        predictions.append(RunPrediction(run, mine, errors))
    name = "shipped" if own is None else own.name
    return PredictedServing(found.table, name, tuple(predictions), tuple(missed))


def _named(run: ServedRun, values: Mapping[str, float]) -> dict[str, float]:
    offline = {"throughput": "offline_throughput"} if run.mode == "offline" else {}
    return {offline.get(name, name): value for name, value in values.items()}


def _row(one: RunPrediction) -> dict[str, Any]:
    units = {name: UNITS.get(name, "" if name == "kv_bytes" else "_s") for name in one.values}
    return {
        "id": one.run.row.name,
        **{f"{name}{units[name]}": value for name, value in one.values.items()},
        **{f"{name}_error_percent": value for name, value in one.error_percent.items()},
    }


def factor_logs(factors: Mapping[str, float]) -> Floats:
    """Return the logarithms of factors, array (constants,)."""
    return np.log([factors.get(name, 1.0) for name in CONSTANTS])


def fit_serving(path: str) -> CalibrationFit[ServingCalibration]:
    """Return a calibration fitted to the runs of a table.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has too little to fit to; then with the reason of its first row.
    """
    table = read_runs(path)
    runs = table.runs
    if not runs:
        first = table.not_scored[0]
        raise InvalidInput(f"{path}: no row is modelled; {first.row.name}: {first.reason}")
    logs = shipped_logs([run.stack for run in runs])
    seen = observations(runs, constants_of_logs(logs))
    if len(seen.rows) < FEWEST:
        raise InvalidInput(
            f"{path}: calibrating needs {FEWEST} measured numbers that the law has, got {len(seen.rows)}; "
            "give rows with ttft_ms, tpot_ms, e2e_ms or out_tok_s"
        )
    factors = fit_factors(seen, logs)
    stacks = [
        f"{run.stack.settings.engine} {run.stack.model.name} {run.stack.accelerator.name}" for run in runs
    ]
    stack = np.unique(stacks, return_inverse=True)[1] % FOLDS
    kinds = {
        "before": seen.percents_off(logs),
        "in_sample": seen.percents_off(logs + factor_logs(factors)),
        "cross_validated": _held_out(seen, logs, random_parts(len(runs), 0)[seen.rows]),
        "leave_one_stack_out": _held_out(seen, logs, stack[seen.rows]),
    }
    engines = tuple(sorted({engine_family(run.stack.settings.engine) for run in runs}))
    parts = tuple(sorted({run.stack.accelerator.name for run in runs}))
    return CalibrationFit(
        path,
        len(runs),
        ServingCalibration(path, factors, engines, parts),
        tuple(Constant(name, FACTOR, 1.0, factor) for name, factor in factors.items()),
        {
            kind: errors_by(zip(seen.quantities.tolist(), off.tolist(), strict=True)) if len(off) else {}
            for kind, off in kinds.items()
        },
        {"engines": list(engines), "accelerators": list(parts), "factors": factors},
        table.not_scored,
    )


def fit_factors(seen: Observations, logs: Floats) -> dict[str, float]:
    """Return the factors on constants, by name, that fit the measurements best.

    Parameters
    ----------
    logs
        Array (n, constants), logarithms of the constants of runs without factors.
    """

    def misses(factors: Mapping[str, float]) -> Floats:
        return np.asarray((seen.predicted_logs(logs + factor_logs(factors)) - seen.logs) / seen.spreads)

    start = dict.fromkeys(CONSTANTS, 1.0)
    return fit_constants([Constant(name, FACTOR, 1.0, 1.0) for name in CONSTANTS], misses, guess=start)


def _held_out(seen: Observations, logs: Floats, parts: Ints) -> Floats:
    """Return the held-out errors of each number; empty with too few runs."""
    if len(parts) - np.bincount(parts).max() < FEWEST:
        return np.zeros(0)
    return held_out(
        parts,
        lambda others: logs + factor_logs(fit_factors(seen.take(others), logs)),
        lambda law, own: seen.take(own).percents_off(law),
    )


def write_serving_calibration(path: str, calibration: ServingCalibration) -> None:
    """Write a calibration of one's own, JSON."""
    document = {
        "engines": list(calibration.engines),
        "accelerators": list(calibration.accelerators),
        "factors": {name: round(value, 5) for name, value in calibration.factors.items()},
    }
    write_atomically(path, json.dumps(document, indent=2) + "\n")


def read_serving_calibration(path: str) -> ServingCalibration:
    """Return a calibration from its file.

    Raises
    ------
    InvalidInput
        If the file is none: unknown constants, or factors that are not positive.
    """
    found = validated(_File, read_json(path), path)
    for name, value in found.factors.items():
        if name not in CONSTANTS:
            raise InvalidInput(f"{path}: factors.{name}: no such constant; known: {', '.join(CONSTANTS)}")
        if not 0 < value < FACTOR.high:
            raise InvalidInput(f"{path}: factors.{name}: expected a positive number, got {value:g}")
    return ServingCalibration(path, found.factors, tuple(found.engines), tuple(found.accelerators))
