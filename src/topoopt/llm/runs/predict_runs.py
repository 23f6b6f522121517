"""Predictions for every run of a table: time by the calibration of its accelerator, and whether it fits."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.errors import TopoOptError
from topoopt.llm.calibration.calibrate_errors import Error, dataset_errors
from topoopt.llm.calibration.calibration import Calibration
from topoopt.llm.calibration.calibration_file import find_calibration
from topoopt.llm.calibration.relatives import are_alike
from topoopt.llm.calibration.timed_runs import timed_runs
from topoopt.llm.runs.run_memory import run_memory
from topoopt.llm.runs.runs import NotModelled, Run, Runs


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is predicted of a run.

    Attributes
    ----------
    memory_bytes : float
        On the fullest accelerator.
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


@dataclass(frozen=True)
class PredictedRuns:
    """A table of runs with its predictions.

    Attributes
    ----------
    errors : mapping from a data set to Error
        Of the runs that have a time; ``all`` is every run.
    """

    runs: Runs
    predictions: tuple[Prediction, ...]
    not_modelled: tuple[NotModelled, ...]
    errors: Mapping[str, Error]


def predict_runs(runs: Runs, calibration: Calibration | None = None) -> PredictedRuns:
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
            given = calibration is not None and are_alike(accelerator, calibration.accelerator)
            used = calibration if calibration is not None and given else find_calibration(accelerator)
        except TopoOptError as error:
            others += [NotModelled(run.place, run.name, run.dataset, str(error)) for run in members]
            continue
        predictions += _predicted(members, used, runs)
    predictions.sort(key=lambda one: one.run.place)
    others.sort(key=lambda one: one.place)
    return PredictedRuns(runs, tuple(predictions), tuple(others), _errors(predictions))


def _predicted(members: list[Run], calibration: Calibration, runs: Runs) -> list[Prediction]:
    times = timed_runs(members).times(calibration)
    made = []
    for index, run in enumerate(members):
        memory = run_memory(run, runs.rows[run.place])
        seconds = float(times.iteration_time_s[index])
        made.append(
            Prediction(
                run,
                calibration.name,
                seconds,
                float(times.compute_s[index]),
                float(times.exposed_communication_s[index]),
                float(times.bubble_s[index]),
                float(times.model_flops[index]) / seconds,
                float(memory.total[0]),
                bool(memory.fits[0]),
            )
        )
    return made


def _errors(predictions: list[Prediction]) -> Mapping[str, Error]:
    timed = [one for one in predictions if not np.isnan(one.run.measured_s)]
    if not timed:
        return {}
    measured = timed_runs([one.run for one in timed])
    return dataset_errors(measured, np.array([one.iteration_time_s for one in timed]))
