"""Predictions for every run of a table: time by the calibration of its accelerator, and whether it fits."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import rows_to_frame, shows_itself
from topoopt.base.arrays import grouped
from topoopt.base.errors import TopoOptError
from topoopt.measurements.fit import Errors, errors_by, percent_off
from topoopt.measurements.run_table import NotScored, Row, text
from topoopt.measurements.training.cells import meaning
from topoopt.measurements.training.fit import timed_runs
from topoopt.measurements.training.run import Run, Runs
from topoopt.measurements.training.run_groups import PairErrors, pair_errors
from topoopt.measurements.training.software_stack import run_attention, run_framework
from topoopt.transformers import (
    Calibration,
    MemoryColumns,
    are_alike,
    common_of,
    configuration_table,
    find_calibration,
    find_framework,
    memory,
    recomputations,
    stage_memory,
    take_rows,
)

FIRST_STAGE = r"\brank[ _]?0\b|\bfirst (rank|stage)\b"
"""Pattern in ``mem_def`` of a peak of the first stage, which need not be the fullest."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction of a run.

    Attributes
    ----------
    memory_bytes : float
        Memory of the fullest accelerator.
    peak_bytes : float
        Peak memory including the allocator's surplus, as far as the row's measurement counts it.
    model_flops_per_s : float
        FLOP/s per accelerator, without recomputation.
    """

    run: Run
    calibration: str
    iteration_time_s: float
    compute_s: float
    exposed_communication_s: float
    bubble_s: float
    model_flops_per_s: float
    memory_bytes: float
    fits: bool
    peak_bytes: float

    @property
    def error_percent(self) -> float:
        """Relative error of the time, percent; NaN where none was measured."""
        return percent_off(self.iteration_time_s, self.run.measured_s)

    @property
    def memory_error_percent(self) -> float:
        """Relative error of the memory against the measured peak, percent; NaN where none was measured."""
        measured = self.run.peak_memory_bytes or math.nan
        return percent_off(self.peak_bytes, measured)


def _percent(value: float) -> str | None:
    return None if math.isnan(value) else f"{value:.2f}"


PREDICTED: Mapping[str, Callable[[Prediction], Any]] = {
    "predicted_iter_time_s": lambda one: f"{one.iteration_time_s:.6g}",
    "error_percent": lambda one: _percent(one.error_percent),
    "predicted_compute_s": lambda one: f"{one.compute_s:.6g}",
    "predicted_exposed_communication_s": lambda one: f"{one.exposed_communication_s:.6g}",
    "predicted_bubble_s": lambda one: f"{one.bubble_s:.6g}",
    "predicted_tflops_per_gpu": lambda one: f"{one.model_flops_per_s / 1e12:.2f}",
    "predicted_memory_gb": lambda one: f"{one.memory_bytes / 1e9:.2f}",
    "memory_error_percent": lambda one: _percent(one.memory_error_percent),
    "predicted_fits": lambda one: int(one.fits),
    "calibration": lambda one: one.calibration,
    "not_scored": lambda one: None,
}
"""Columns that are added to the table, and their cells."""


@shows_itself
@dataclass(frozen=True)
class PredictedRuns:
    """A table of runs with its predictions.

    Attributes
    ----------
    not_scored : tuple of NotScored
        Rows that cannot be modelled, or for whose accelerator there is no calibration.
    """

    runs: Runs
    predictions: tuple[Prediction, ...]
    not_scored: tuple[NotScored, ...]

    @property
    def runs_file(self) -> str:
        """The file of the table."""
        return self.runs.table.path

    @property
    def errors(self) -> Errors:
        """Errors of the iteration time by data set, of the runs that have one; ``all`` is every run."""
        off = [(one.run.row.dataset, one.error_percent) for one in self.predictions if one.run.time_from]
        return errors_by(off, total=True)

    @property
    def memory_errors(self) -> Errors:
        """Errors of the peak memory by data set, of the runs that have one; ``all`` is every run."""
        ran = [one for one in self.predictions if one.run.peak_memory_bytes]
        return errors_by([(one.run.row.dataset, one.memory_error_percent) for one in ran], total=True)

    @property
    def pair_errors(self) -> Mapping[str, PairErrors]:
        """Errors of the changes between runs of one job, by the difference; empty where no two runs share a job."""
        timed = [one for one in self.predictions if one.run.time_from]
        return pair_errors([one.run for one in timed], [one.iteration_time_s for one in timed])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, and those of :data:`PREDICTED`."""
        return (*(column for column in self.runs.table.headings if column not in PREDICTED), *PREDICTED)

    @property
    def unknown_columns(self) -> tuple[str, ...]:
        """Headings that nothing is read from; a table that was written with predictions may be read again."""
        return tuple(column for column in self.runs.table.unknown_columns if column not in PREDICTED)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table as they were, with predictions, or with the reason why there are none."""
        made = {one.run.row: one for one in self.predictions}
        reasons = {one.row: one.reason for one in self.not_scored}
        for row in self.runs.table.rows:
            own = {column: row.cells.get(column, "") for column in self.columns}
            if row in made:
                yield {**own, **{column: cell(made[row]) for column, cell in PREDICTED.items()}}
            else:
                yield {**own, **dict.fromkeys(PREDICTED), "not_scored": reasons.get(row, "")}

    to_frame = rows_to_frame

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        oom = [one for one in self.predictions if one.run.out_of_memory]
        others = [one for one in self.predictions if not one.run.out_of_memory]
        return {
            "runs_file": self.runs_file,
            "rows": len(self.runs.table.rows),
            "modelled": len(self.predictions),
            "rows_by_calibration": dict(Counter(one.calibration for one in self.predictions)),
            "times_from": dict(Counter(one.run.time_from for one in self.predictions if one.run.time_from)),
            "without_time": sum(math.isnan(one.run.measured_s) for one in others),
            "unknown_columns": list(self.unknown_columns),
            "mape_by_dataset": {name: error.mape_percent for name, error in self.errors.items()},
            "bias_by_dataset": {name: error.bias_percent for name, error in self.errors.items()},
            "runs_by_dataset": {name: error.runs for name, error in self.errors.items()},
            "memory_mape_by_dataset": {name: one.mape_percent for name, one in self.memory_errors.items()},
            "memory_bias_by_dataset": {name: one.bias_percent for name, one in self.memory_errors.items()},
            "pairs": {kind: one.to_json() for kind, one in self.pair_errors.items()},
            "out_of_memory": {
                "runs": len(oom),
                "predicted_not_to_fit": sum(not one.fits for one in oom),
                "other_runs": len(others),
                "other_runs_predicted_to_fit": sum(one.fits for one in others),
            },
            "not_scored": [row.to_json() for row in self.not_scored],
        }


def predict_runs(runs: Runs, calibration: Calibration | None = None) -> PredictedRuns:
    """Return the predictions for all runs that can be modelled.

    Parameters
    ----------
    calibration
        Calibration for the runs of its accelerator and its relatives; all others, and all runs with None, use the
        shipped ones.
    """
    groups = grouped((run.system.accelerator, run) for run in runs.runs)
    predictions, others = [], list(runs.not_scored)
    for accelerator, members in groups.items():
        try:
            alike = calibration is not None and are_alike(accelerator, calibration.accelerator)
            law = calibration if calibration is not None and alike else find_calibration(accelerator)
        except TopoOptError as error:
            others += [NotScored(run.row, str(error)) for run in members]
            continue
        predictions += _predicted(members, law)
    predictions.sort(key=lambda one: one.run.row.place)
    others.sort(key=lambda one: one.row.place)
    return PredictedRuns(runs, tuple(predictions), tuple(others))


def _predicted(members: list[Run], calibration: Calibration) -> list[Prediction]:
    times = timed_runs(members).times(calibration)
    made = []
    for index, run in enumerate(members):
        memory = run_memory(run)
        row = times.row(index)
        made.append(
            Prediction(
                run,
                calibration.name,
                row["iteration_time_s"],
                row["compute_s"],
                row["exposed_communication_s"],
                row["bubble_s"],
                float(times.model_flops[index]) / row["iteration_time_s"],
                float(memory.total[0]),
                bool(memory.fits[0]),
                measured_bytes(run, memory),
            )
        )
    return made


def run_memory(run: Run) -> MemoryColumns:
    """Return the memory of a run, one row.

    Options that the row leaves open are set so that it fits: the least recomputation and, where adapters are
    trained in 8 bits, 8-bit activation inputs, as NVIDIA's recipes of MLPerf use them only to fit (FP8_ACT).
    """
    one, (accelerator, attention, framework) = run.configuration, _stack(run)
    said = text(run.row.cells, "recompute")
    ways = [one] if said else recomputations(run.model, one, accelerator, framework)
    if framework == "nemo" and one.adapter_rank and one.precision == "fp8" and not one.activation_inputs:
        ways += [replace(way, activation_inputs="fp8") for way in ways]
    needed = memory(run.model, configuration_table(ways), accelerator, attention, framework)
    return take_rows(needed, np.argmax(needed.fits, keepdims=True))


def measured_bytes(run: Run, needed: MemoryColumns) -> float:
    """Return the memory that a measurement would show by the row's ``mem_def``, for a fullest accelerator."""
    if run.configuration.pp > 1 and re.search(FIRST_STAGE, text(run.row.cells, "mem_def").lower()):
        common = common_of(run.model, configuration_table([run.configuration]), *_stack(run))
        needed = stage_memory(common, np.zeros(1, np.int64))
    return counted_bytes(needed, run.row.cells)


def _stack(run: Run) -> tuple[str, str, str]:
    return run.system.accelerator, run_attention(run.row.cells), run_framework(run.row.cells)


def counted_bytes(needed: MemoryColumns, row: Row) -> float:
    """Return as much of the memory of a run as its measurement counts, by the row's ``mem_def``.

    ``allocated`` is the memory of tensors; ``reserved`` includes the allocator's cache; nvidia-smi, the default of
    a row, shows the latter up to the accelerator's capacity.
    """
    kind = meaning("mem_def", text(row, "mem_def").lower())
    if not kind and run_framework(row).startswith("torchtitan"):
        kind = "reserved"  # its logs print what PyTorch's allocator had reserved at most
    if kind == "allocated":
        return float(needed.total[0] - needed.overhead[0])
    held = float(needed.total[0] + needed.slack[0])
    if kind == "reserved":  # communicators are outside of it
        return held - float(needed.overhead[0]) + find_framework(run_framework(row)).reserved_bytes
    return min(held, max(needed.capacity_bytes, float(needed.total[0])))
