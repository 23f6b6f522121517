"""``topoopt.llm.calibrate``: the model of step times fitted to measured ones."""

import os
from collections.abc import Mapping, Sequence

from topoopt.base.errors import InvalidInput
from topoopt.measurements import CalibrationFit
from topoopt.measurements.training import FitRules, fit_to_runs
from topoopt.schema.words import checked_arguments
from topoopt.transformers import Calibration


@checked_arguments
def calibrate(
    runs: str | os.PathLike[str],
    *,
    accelerator: str | Sequence[str] = (),
    start: str | os.PathLike[str] | None = None,
    attention: str | None = None,
    weight: Mapping[str, float] | None = None,
    strength: float | None = None,
    collectives: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> CalibrationFit[Calibration]:
    """Fit a calibration to measured step times, and report its error on held-out runs.

    A handful of runs is enough: parameters that they do not constrain stay at their start.

    Parameters
    ----------
    runs
        A CSV file of measured runs, a row each; see :func:`topoopt.measurements.training.read_runs`.
    accelerator
        Accelerators whose runs are used, also with commas; the calibration is for the first. Those with most runs if
        not given.
    start
        Start of the fit and target of the regularization: ``neutral``, a name or a file; by default the
        accelerator's own calibration.
    attention
        ``auto``, ``fused`` or ``eager``, for runs without it; by default as in the start.
    weight
        Weight of each data set; 1 for those not named.
    strength
        Strength of the regularization; by default chosen by cross-validation.
    collectives
        A CSV file of measured collectives (nccl-tests); those of the accelerators count beside the runs.
    seed
        Random seed of the held-out parts.

    Returns
    -------
    CalibrationFit

    Raises
    ------
    InvalidInput
        If the file is no table of runs, has too few of them, or an option has an invalid value.
    """
    if start == "":
        raise InvalidInput("start: expected neutral, a name or a file, got nothing")
    names = tuple(accelerator.split(",")) if isinstance(accelerator, str) else tuple(accelerator)
    begin, measured = ("" if one is None else os.fspath(one) for one in (start, collectives))
    rules = FitRules(names, begin, attention, weight, strength, collectives=measured, seed=seed)
    return fit_to_runs(os.fspath(runs), rules)
