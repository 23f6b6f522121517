"""``topoopt.llm.estimate``: time and memory of a training configuration of a transformer, or of a table of runs."""

import os
from dataclasses import replace
from typing import Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.frontends.verbs.llm.words import (
    ASSUMED,
    ESTIMATORS,
    Transformer,
    calibration_of,
    check_attention,
    configuration_of,
    loads_of,
    model_of,
    system_of,
)
from topoopt.frontends.verbs.pricing import assumed_by, cluster_of
from topoopt.measurements.training import PredictedRuns, predict_runs, read_runs
from topoopt.schema.words import EstimateWords, as_flags, checked_arguments, checked_words
from topoopt.transformers import (
    Estimate,
    estimate_configuration,
    named_calibration,
    usual_framework,
    with_least_recomputation,
)


@checked_arguments
def estimate(model: Transformer = None, **words: Unpack[EstimateWords]) -> Estimate:
    """Estimate the time of one training iteration by cause, and the memory that it needs.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model; none for shapes by hand.
    **words
        The flags of ``topoopt llm estimate`` with underscores: ``accelerators``, ``tp``, ``pp``, ``seq`` …

    Returns
    -------
    Estimate

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid configuration, with the nearest valid values.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.llm.estimate("llama3-70b", accelerators=512, tp=8, pp=4)
    >>> found.configuration.dp, found.fits, found.assumed.partition(";")[0]
    (16, True, '--zero 1 --sequence-parallel')
    """
    settings = checked_words(words, EstimateWords)
    law, attention = settings["estimator"], settings.get("attention")
    check_known("estimator", law, ESTIMATORS)
    check_attention(attention)
    for word in ("calibration", "no_overlap"):
        if law == "apnet24" and settings.get(word):
            raise InvalidInput(f"{word}: the published formula apnet24 takes none; leave it out")
    if law == "apnet24" and "loads" in settings:
        raise InvalidInput("loads: the published formula apnet24 has no term for experts; leave it out")
    transformer, system = model_of(model, settings), system_of(settings)
    configuration = configuration_of(transformer, settings)
    calibration = None if law == "apnet24" else calibration_of(settings, system.accelerator)
    cluster = cluster_of(settings, system, configuration.accelerators)
    framework = settings.get("framework", usual_framework(system.accelerator))
    further = attention, framework, loads_of(transformer, settings)
    answer = estimate_configuration(transformer, configuration, system, calibration, *further)
    if "recompute" not in settings and calibration is not None and not answer.fits:
        answer = with_least_recomputation(answer, further)
    sharing = {name: getattr(configuration, name) for name in ASSUMED if name not in settings}
    found = [as_flags({name: value for name, value in sharing.items() if value}), answer.assumed]
    found.append(assumed_by(words, system, configuration.accelerators, "bandwidth"))
    return replace(answer, cluster=cluster, assumed="; ".join(filter(None, found)))


@checked_arguments
def estimate_runs(
    runs: str | os.PathLike[str], calibration: str | os.PathLike[str] | None = None
) -> PredictedRuns:
    """Estimate every run of a table, and compare with the times in it.

    Parameters
    ----------
    runs
        A CSV file, a run in each row; see :func:`topoopt.measurements.training.read_runs`.
    calibration
        Calibration for the runs of its accelerator; by default the accelerators' own.

    Returns
    -------
    PredictedRuns

    Raises
    ------
    InvalidInput
        If a file cannot be read.
    """
    named = None if calibration is None else named_calibration(os.fspath(calibration))
    return predict_runs(read_runs(os.fspath(runs)), named)
