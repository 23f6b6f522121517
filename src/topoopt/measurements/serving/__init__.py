"""Measured runs of served models: tables of them, what the law predicts, and how far it is off."""

from topoopt.measurements.serving.own_calibration import OwnFit as OwnFit
from topoopt.measurements.serving.own_calibration import fit_own_file as fit_own_file
from topoopt.measurements.serving.own_calibration import read_serving_calibration as read_serving_calibration
from topoopt.measurements.serving.own_calibration import (
    write_serving_calibration as write_serving_calibration,
)
from topoopt.measurements.serving.prediction import PredictedServing as PredictedServing
from topoopt.measurements.serving.prediction import predict_served_runs as predict_served_runs
