"""Runs as columns, so that one calibration's times for all of them are one call."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.measurements.training.run import Run
from topoopt.transformers import (
    ATTENTIONS_OF_RUNS,
    GATHERS,
    Calibration,
    Case,
    ConfigurationTable,
    Machine,
    Shapes,
    StepTimes,
    configuration_table,
    stacked_machines,
    stacked_shapes,
    step_times,
    take_rows,
    unfused_bits,
)


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """Runs of any models and systems, a row each.

    Attributes
    ----------
    measured_s : array, shape (runs,)
        NaN where a run has no time.
    datasets : array of text
        Of each run.
    parameters : array
        Parameters of each run's model.
    attention : array
        Place in :data:`~topoopt.transformers.ATTENTIONS_OF_RUNS` of how attention ran; ``auto`` where a run does not
        say.
    unfused, gathers : array
        As in :class:`~topoopt.transformers.step_time.case.Case`; -1 where a run does not say.
    """

    shapes: Shapes
    table: ConfigurationTable
    machine: Machine
    measured_s: Floats
    datasets: NDArray[np.str_]
    parameters: Floats
    attention: Ints
    unfused: Ints
    gathers: Ints

    def __len__(self) -> int:
        return len(self.measured_s)

    def times(self, calibration: Calibration) -> StepTimes:
        """Return the step times of all runs."""
        how = self.attention, self.unfused, self.gathers
        return step_times(Case(self.shapes, self.table, self.machine, calibration, *how))

    def take(self, rows: Ints) -> "TimedRuns":
        """Return some runs."""
        return take_rows(self, rows)


def timed_runs(runs: Sequence[Run]) -> TimedRuns:
    """Return runs as columns."""
    shapes = stacked_shapes([run.model for run in runs])
    inside = shapes.dense_parameters + shapes.replicated_parameters + shapes.expert_parameters
    return TimedRuns(
        shapes,
        configuration_table([run.configuration for run in runs]),
        stacked_machines([run.system for run in runs]),
        np.array([run.measured_s for run in runs], np.float64),
        np.array([run.dataset for run in runs], np.str_),
        shapes.layers * inside + shapes.table_parameters,
        np.array([ATTENTIONS_OF_RUNS.index(run.attention or "auto") for run in runs], np.int64),
        np.array([unfused_bits(run.unfused) if run.unfused else -1 for run in runs], np.int64),
        np.array([GATHERS.index(run.gathers) if run.gathers else -1 for run in runs], np.int64),
    )
