"""``topoopt.serving_runs``, ``topoopt.calibrate_serving``: measured runs beside what the law of steps says of them."""

import os

from topoopt.measurements.serving import (
    OwnFit,
    PredictedServing,
    fit_own_file,
    predict_served_runs,
    read_serving_calibration,
)
from topoopt.schema.words import checked_arguments

Path = str | os.PathLike[str]


@checked_arguments
def serving_runs(runs: Path, *, calibration: Path | None = None) -> PredictedServing:
    """Predict every run of a table, and compare with what was measured.

    Parameters
    ----------
    runs
        A CSV file of measured runs, a row each.
    calibration
        What :func:`calibrate_serving` found for one's own stack, as a file; the shipped constants where not given.

    Returns
    -------
    PredictedServing

    Raises
    ------
    InvalidInput
        If a file cannot be read.
    """
    own = None if calibration is None else read_serving_calibration(os.fspath(calibration))
    return predict_served_runs(os.fspath(runs), own)


@checked_arguments
def calibrate_serving(runs: Path) -> OwnFit:
    """Fit factors on the shipped constants to a few runs of one's own stack: errors before and after.

    Parameters
    ----------
    runs
        A CSV file of measured runs, a row each.

    Returns
    -------
    OwnFit

    Raises
    ------
    InvalidInput
        If the file cannot be read, or has too little to fit to.
    """
    return fit_own_file(os.fspath(runs))
