"""Measured runs of served models: tables, predictions and their errors."""

from topoopt.measurements.serving.prediction import PredictedServing as PredictedServing
from topoopt.measurements.serving.prediction import ServingCalibration as ServingCalibration
from topoopt.measurements.serving.prediction import fit_serving as fit_serving
from topoopt.measurements.serving.prediction import predict_served_runs as predict_served_runs
from topoopt.measurements.serving.prediction import read_serving_calibration as read_serving_calibration
from topoopt.measurements.serving.prediction import write_serving_calibration as write_serving_calibration
