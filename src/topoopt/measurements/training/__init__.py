"""Tables of measured runs: their columns, models, memory and predictions."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.measurements.training.fit import Fit as Fit
    from topoopt.measurements.training.fit import FitRules as FitRules
    from topoopt.measurements.training.fit import TimedRuns as TimedRuns
    from topoopt.measurements.training.fit import calibrate as calibrate
    from topoopt.measurements.training.fit import dataset_errors as dataset_errors
    from topoopt.measurements.training.fit import fit as fit
    from topoopt.measurements.training.fit import fit_to_runs as fit_to_runs
    from topoopt.measurements.training.fit import timed_runs as timed_runs
    from topoopt.measurements.training.prediction import PredictedRuns as PredictedRuns
    from topoopt.measurements.training.prediction import Prediction as Prediction
    from topoopt.measurements.training.prediction import predict_runs as predict_runs
    from topoopt.measurements.training.prediction import run_memory as run_memory
    from topoopt.measurements.training.run import Run as Run
    from topoopt.measurements.training.run import Runs as Runs
    from topoopt.measurements.training.run import read_runs as read_runs
    from topoopt.measurements.training.run import timed as timed
    from topoopt.measurements.training.run_groups import Weights as Weights
    from topoopt.measurements.training.software_stack import run_attention as run_attention
    from topoopt.measurements.training.software_stack import run_framework as run_framework

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
