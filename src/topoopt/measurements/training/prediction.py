"""Predictions for every run of a table: time by the calibration of its accelerator, and whether it fits."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import TopoOptError
from topoopt.measurements.training.cells import Row, meaning, text
from topoopt.measurements.training.fit import Error, dataset_errors, timed_runs
from topoopt.measurements.training.run import NotModelled, Run, Runs
from topoopt.measurements.training.software_stack import run_attention, run_framework
from topoopt.transformers import (
    RECOMPUTATIONS,
    Calibration,
    MemoryColumns,
    are_alike,
    common_of,
    configuration_table,
    find_calibration,
    find_framework,
    memory,
    stage_memory,
    take_rows,
)

FIRST_STAGE = r"\brank[ _]?0\b|\bfirst (rank|stage)\b"
"""In ``mem_def``, where the peak is that of the first stage, which need not be the fullest."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is predicted of a run.

    Attributes
    ----------
    memory_bytes : float
        On the fullest accelerator.
    peak_bytes : float
        Of that, and of what the allocator keeps beyond it, as much as the row's measurement counts.
    model_flops_per_s : float
        Of one accelerator, without recomputation.
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
        """By how much the time is off; NaN where none was measured."""
        return 100 * (self.iteration_time_s / self.run.measured_s - 1)

    @property
    def memory_error_percent(self) -> float:
        """By how much the memory is off the measured peak; NaN where none was measured."""
        measured = self.run.peak_memory_bytes or math.nan
        return 100 * (self.peak_bytes / measured - 1)


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
    "not_modelled": lambda one: None,
}
"""Columns that are added to the table, and their cells."""


@shows_itself
@dataclass(frozen=True)
class PredictedRuns:
    """A table of runs with its predictions.

    Attributes
    ----------
    runs_file : str
    errors : mapping from a data set to Error
        Of the runs that have a time; ``all`` is every run.
    memory_errors : mapping from a data set to Error
        Of the runs that have a peak of memory.
    """

    runs_file: str
    runs: Runs
    predictions: tuple[Prediction, ...]
    not_modelled: tuple[NotModelled, ...]
    errors: Mapping[str, Error]
    memory_errors: Mapping[str, Error]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, and those of :data:`PREDICTED`."""
        return (*(column for column in self.runs.columns if column not in PREDICTED), *PREDICTED)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table as they were, with predictions, or with the reason why there are none."""
        made = {one.run.place: one for one in self.predictions}
        reasons = {row.place: row.reason for row in self.not_modelled}
        for place, row in enumerate(self.runs.rows):
            own = {column: row.get(column, "") for column in self.columns}
            if place in made:
                yield {**own, **{column: cell(made[place]) for column, cell in PREDICTED.items()}}
            else:
                yield {**own, **dict.fromkeys(PREDICTED), "not_modelled": reasons.get(place, "")}

    def to_frame(self) -> Frame:
        """Return the table with predictions as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        oom = [one for one in self.predictions if one.run.out_of_memory]
        others = [one for one in self.predictions if not one.run.out_of_memory]
        return {
            "runs_file": self.runs_file,
            "rows": len(self.runs.rows),
            "modelled": len(self.predictions),
            "rows_by_calibration": dict(Counter(one.calibration for one in self.predictions)),
            "times_from": dict(Counter(one.run.time_from for one in self.predictions if one.run.time_from)),
            "without_time": sum(math.isnan(one.run.measured_s) for one in others),
            "unknown_columns": [column for column in self.runs.unknown_columns if column not in PREDICTED],
            "mape_by_dataset": {name: error.mape_percent for name, error in self.errors.items()},
            "bias_by_dataset": {name: error.bias_percent for name, error in self.errors.items()},
            "runs_by_dataset": {name: error.runs for name, error in self.errors.items()},
            "memory_mape_by_dataset": {name: one.mape_percent for name, one in self.memory_errors.items()},
            "memory_bias_by_dataset": {name: one.bias_percent for name, one in self.memory_errors.items()},
            "out_of_memory": {
                "runs": len(oom),
                "predicted_not_to_fit": sum(not one.fits for one in oom),
                "other_runs": len(others),
                "other_runs_predicted_to_fit": sum(one.fits for one in others),
            },
            "not_modelled": [
                {"id": row.name, "dataset": row.dataset, "reason": row.reason} for row in self.not_modelled
            ],
        }


def predict_runs(runs: Runs, calibration: Calibration | None = None, runs_file: str = "") -> PredictedRuns:
    """Return the predictions for all runs that can be modelled.

    Parameters
    ----------
    calibration
        For the runs of its accelerator and its relatives; the others take what is shipped for theirs, and so do all
        with None.
    """
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs.modelled:
        groups[run.system.accelerator].append(run)
    predictions, others = [], list(runs.not_modelled)
    for accelerator, members in groups.items():
        try:
            alike = calibration is not None and are_alike(accelerator, calibration.accelerator)
            law = calibration if calibration is not None and alike else find_calibration(accelerator)
        except TopoOptError as error:
            others += [NotModelled(run.place, run.name, run.dataset, str(error)) for run in members]
            continue
        predictions += _predicted(members, law, runs)
    predictions.sort(key=lambda one: one.run.place)
    others.sort(key=lambda one: one.place)
    return PredictedRuns(
        runs_file, runs, tuple(predictions), tuple(others), _errors(predictions), _memory_errors(predictions)
    )


def _predicted(members: list[Run], calibration: Calibration, runs: Runs) -> list[Prediction]:
    times = timed_runs(members).times(calibration)
    made = []
    for index, run in enumerate(members):
        memory = run_memory(run, runs.rows[run.place])
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
                measured_bytes(run, memory, runs.rows[run.place]),
            )
        )
    return made


def _errors(predictions: list[Prediction]) -> Mapping[str, Error]:
    timed = [one for one in predictions if not np.isnan(one.run.measured_s)]
    if not timed:
        return {}
    measured = timed_runs([one.run for one in timed])
    return dataset_errors(measured, np.array([one.iteration_time_s for one in timed]))


def _memory_errors(predictions: list[Prediction]) -> Mapping[str, Error]:
    groups: dict[str, list[float]] = defaultdict(list)
    for one in predictions:
        if not math.isnan(one.memory_error_percent) and not one.run.out_of_memory:
            groups[one.run.dataset].append(one.memory_error_percent)
    everything = {**groups, "all": [error for part in groups.values() for error in part]}
    return {
        name: Error(len(part), float(np.abs(part).mean()), float(np.mean(part)))
        for name, part in everything.items()
        if part
    }


def run_memory(run: Run, row: Row) -> MemoryColumns:
    """Return the memory of a run, one row.

    Where the row does not say what was computed again, it is what needs least.
    """
    ways = [run.configuration.recompute] if text(row, "recompute") else RECOMPUTATIONS
    table = configuration_table([replace(run.configuration, recompute=how) for how in ways])
    return _least(memory(run.model, table, *_stack(run, row)))


def measured_bytes(run: Run, needed: MemoryColumns, row: Row) -> float:
    """Return what a measurement of a run, whose fullest accelerator is given, would show by the row's ``mem_def``."""
    if run.configuration.pp > 1 and re.search(FIRST_STAGE, text(row, "mem_def").lower()):
        common = common_of(run.model, configuration_table([run.configuration]), *_stack(run, row))
        needed = stage_memory(common, np.zeros(1, np.int64))
    return counted_bytes(needed, row)


def _stack(run: Run, row: Row) -> tuple[str, str, str]:
    return run.system.accelerator, run_attention(row), run_framework(row)


def _least(needed: MemoryColumns) -> MemoryColumns:
    return take_rows(needed, np.array([np.argmin(needed.total)]))


def counted_bytes(needed: MemoryColumns, row: Row) -> float:
    """Return as much of the memory of a run as its measurement counts, by the row's ``mem_def``.

    ``allocated`` is what tensors take; ``reserved`` what the framework's allocator holds, which keeps some of what it
    once had; and nvidia-smi, which is meant where a row does not say, shows that as far as the accelerator has it.
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
