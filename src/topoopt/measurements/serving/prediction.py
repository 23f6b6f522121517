"""Predictions of a table of measured runs beside what was measured: errors by quantity, and rows that have no score."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.answers import shows_itself
from topoopt.base.arrays import Floats
from topoopt.inference import (
    DEFAULT_ENGINE,
    cache_copies,
    constants_of_logs,
    model_kind,
    request_cache_bytes,
    shipped_logs,
    transfer_law,
)
from topoopt.measurements.serving.columns import expected, run_columns
from topoopt.measurements.serving.fit import stack_of, why_not_scored
from topoopt.measurements.serving.own_calibration import OwnCalibration
from topoopt.measurements.serving.run import NotScored, ServedRun, read_run_table, read_runs

GROUPS: Mapping[str, Callable[[ServedRun], str]] = {
    "engine": lambda run: run.engine,
    "accelerator": lambda run: run.accelerator.name,
    "model_kind": lambda run: model_kind(run.model),
    "mode": lambda run: run.mode,
    "dataset": lambda run: run.dataset,
    "model": lambda run: run.model.name,
}
"""By what errors are given."""


@dataclass(frozen=True, slots=True)
class QuantityError:
    """Of some runs: how many, mean and median of absolute errors, mean error; percent of what was measured."""

    runs: int
    mape_percent: float
    median_percent: float
    bias_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the answer."""
        return {
            "runs": self.runs,
            "mape": self.mape_percent,
            "median": self.median_percent,
            "bias": self.bias_percent,
        }


@dataclass(frozen=True, slots=True)
class RunPrediction:
    """What is predicted of one run, by quantity: seconds, tokens per second, bytes; and how far scored ones are off."""

    run: ServedRun
    values: Mapping[str, float]
    error_percent: Mapping[str, float]


@shows_itself
@dataclass(frozen=True)
class PredictedServing:
    """A table of measured runs with predictions.

    Attributes
    ----------
    runs_file : str
    calibration : str
        Of which constants: ``shipped``, or the file of one's own.
    predictions : tuple of RunPrediction
    not_scored : tuple of NotScored
        Rows, and quantities of rows, without a score, each with its reason.
    """

    runs_file: str
    calibration: str
    predictions: tuple[RunPrediction, ...]
    not_scored: tuple[NotScored, ...]

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is scored, in order."""
        there = {name for one in self.predictions for name in one.error_percent}
        return tuple(name for name in SCORED if name in there)

    def error(self, quantity: str) -> QuantityError:
        """Return the error of a quantity over all runs that are scored."""
        return _error([one.error_percent[quantity] for one in self._with(quantity)])

    def errors_by(self, quantity: str, group: str) -> dict[str, QuantityError]:
        """Return the errors of a quantity by one of :data:`GROUPS`."""
        parts: dict[str, list[float]] = defaultdict(list)
        for one in self._with(quantity):
            parts[GROUPS[group](one.run)].append(one.error_percent[quantity])
        return {name: _error(parts[name]) for name in sorted(parts)}

    def _with(self, quantity: str) -> Iterator[RunPrediction]:
        return (one for one in self.predictions if quantity in one.error_percent)

    def to_json(self) -> dict[str, Any]:
        """Return errors by quantity, what is not scored, and every prediction."""
        return {
            "runs_file": self.runs_file,
            "calibration": self.calibration,
            **{
                name: {
                    **self.error(name).to_json(),
                    "by": {
                        group: {key: one.to_json() for key, one in self.errors_by(name, group).items()}
                        for group in GROUPS
                    },
                }
                for name in self.quantities
            },
            "not_scored": [
                {"id": one.name, "dataset": one.dataset, "why": one.why} for one in self.not_scored
            ],
            "predictions": [_row(one) for one in self.predictions],
        }


SCORED = (
    "tpot",
    "ttft",
    "prefill",
    "e2e",
    "offline_throughput",
    "throughput",
    "prompt_rate",
    "kv_transfer",
    "kv_bytes",
)
"""Quantities in the order in which they are shown; throughput of modes other than ``offline`` is by itself."""

UNITS = {"offline_throughput": "_tokens_per_s", "throughput": "_tokens_per_s", "prompt_rate": "_tokens_per_s"}
"""Suffixes of predictions in JSON; the others are seconds, but ``kv_bytes``."""


TEMPLATE_TOKENS = {"vllm": 14}
"""Tokens of a chat template that are moved beside those of the prompt (Mooncake's table of vLLM)."""

NOMINAL_BYTES_PER_S = 200e9
"""Of the routes on which transfers were measured: eight ports, or four of 400 Gb/s (Mooncake)."""


def predict_served_runs(path: str, own: OwnCalibration | None = None) -> PredictedServing:
    """Return predictions of a table of measured runs.

    Raises
    ------
    InvalidInput
        If the file is no such table.
    """
    runs, others = read_runs(read_run_table(path))
    missed = list(others)
    if not runs:
        return PredictedServing(path, _name(own), (), tuple(missed))
    logs = shipped_logs([stack_of(run) for run in runs])
    values = law_values(runs, logs if own is None else own.corrected(runs, logs))
    predictions = []
    for place, run in enumerate(runs):
        mine = {name: float(column[place]) for name, column in values.items() if np.isfinite(column[place])}
        mine = _named(run, mine) | _moved(run)
        errors = {}
        for name, measured in _named(run, {**run.measured, "kv_bytes": run.cache_bytes}).items():
            why = why_not_scored(run, "throughput" if name.endswith("throughput") else name)
            if why:
                missed.append(NotScored(run.name, run.dataset, f"{name}: {why}"))
            elif name in mine and measured > 0:
                errors[name] = 100 * (mine[name] / measured - 1)
        predictions.append(RunPrediction(run, mine, errors))
    return PredictedServing(path, _name(own), tuple(predictions), tuple(missed))


def law_values(runs: Sequence[ServedRun], logs: Floats) -> dict[str, Floats]:
    """Return what the law says of runs with these logarithms of constants, array (n, constants)."""
    return expected(run_columns(runs), constants_of_logs(logs))


def _name(own: OwnCalibration | None) -> str:
    return "shipped" if own is None else own.name


def _named(run: ServedRun, values: Mapping[str, float]) -> dict[str, float]:
    """Return quantities by the names under which they are scored."""
    offline = {"throughput": "offline_throughput"} if run.mode == "offline" else {}
    return {offline.get(name, name): value for name, value in values.items()}


def _moved(run: ServedRun) -> dict[str, float]:
    """Return bytes and seconds of bringing one request's caches from pool to pool, where that was measured."""
    if np.isnan(run.cache_bytes):
        return {}
    tokens = int(run.prompt) + TEMPLATE_TOKENS.get(run.engine, 0)
    once = request_cache_bytes(run.model, tokens, run.settings.kv_precision)
    size = once * cache_copies(run.model, run.prefill.tensor)
    engine = run.engine if run.engine in ("vllm", "sglang") else DEFAULT_ENGINE
    return {"kv_bytes": size, "kv_transfer": transfer_law(engine).transfer_s(size / NOMINAL_BYTES_PER_S)}


def _error(percents: Sequence[float]) -> QuantityError:
    off = np.abs(percents)
    return QuantityError(len(off), float(off.mean()), float(np.median(off)), float(np.mean(percents)))


def _row(one: RunPrediction) -> dict[str, Any]:
    units = {name: UNITS.get(name, "" if name == "kv_bytes" else "_s") for name in one.values}
    return {
        "id": one.run.name,
        **{f"{name}{units[name]}": value for name, value in one.values.items()},
        **{f"{name}_error_percent": value for name, value in one.error_percent.items()},
    }
