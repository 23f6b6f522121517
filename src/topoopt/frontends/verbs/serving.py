"""``topoopt.serving``: which deployment on which network answers users in time, for the least money."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import OWN
from topoopt.frontends.verbs.llm.words import Transformer
from topoopt.frontends.verbs.serving_question import served_question
from topoopt.inference import OnOneFabric, ServingAnswer, at_rate, serve
from topoopt.jobs import traffic_job
from topoopt.measurements import CalibrationFit
from topoopt.measurements.serving import (
    PredictedServing,
    ServingCalibration,
    fit_serving,
    predict_served_runs,
    read_serving_calibration,
)
from topoopt.plans import Plan, ServedFigures, ServedOnFabric
from topoopt.schema.words import (
    PlanWords,
    PricingWords,
    RunningWords,
    ServingWords,
    checked_arguments,
    defaults,
)
from topoopt.search import plan_on

MACHINES = (
    "servers", "accelerators", "degree", "bandwidth", "latency", "accelerator", "accelerators_per_server", "seed",
)  # fmt: skip
OF_PLAN = (*MACHINES, *PricingWords.__annotations__, *RunningWords.__annotations__)
"""Words of a plan that are of a service, too."""
Path = str | os.PathLike[str]


@checked_arguments
def serving(
    model: Transformer = None, *, on_progress: Progress = silent, **words: Unpack[ServingWords]
) -> ServingAnswer:
    """Find the cheapest deployment of a transformer, and network, that meets the latency objectives.

    All splits of a replica, modes and shares of prefill are evaluated in closed form, without those that cannot hold
    the model or meet the objectives. The most promising ones of each mode are simulated request by request, at the
    given rate, and at others to find the largest at which enough requests meet both objectives.

    With accelerators in several servers, that is an upper bound on an ideal network. Then every fabric gets the
    best deployment on it, simulated there: on topoopt, wiring, routes and the pairing of replicas are chosen
    together.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, a job that serves a model, or a model; none
        for shapes by hand.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt serving`` with underscores: ``accelerators``, ``rate``, ``isl``, ``slo_ttft`` …

    Returns
    -------
    ServingAnswer
        Answer with ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.
    Infeasible
        If the model fits nowhere, an objective cannot be met, or the rate is not stable; with the possible values.

    Examples
    --------
    >>> import topoopt
    >>> asked = {"accelerators": 2, "rate": 4, "slo_ttft": "1s", "slo_tpot": "50ms", "duration": "1min"}
    >>> found = topoopt.serving("llama3-8b", **asked, mode="chunked", top=1)
    >>> found.meets, found.best.candidate.deployment.mode
    (True, 'chunked')
    """
    return serve(served_question(model, words), on_progress)


@checked_arguments
def serving_runs(runs: Path, *, calibration: Path | None = None) -> PredictedServing:
    """Predict every run of a table, and compare with the measurements.

    Parameters
    ----------
    runs
        A CSV file of measured runs, a row each.
    calibration
        Result of :func:`calibrate_serving` for the user's stack, as a file; by default the shipped constants.

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
def calibrate_serving(runs: Path) -> CalibrationFit[ServingCalibration]:
    """Fit factors on the shipped constants to a few runs of one's own stack: errors before and after.

    Parameters
    ----------
    runs
        A CSV file of measured runs, a row each.

    Returns
    -------
    CalibrationFit

    Raises
    ------
    InvalidInput
        If the file cannot be read, or has too little to fit to.
    """
    return fit_serving(os.fspath(runs))


def serving_plan(answer: ServingAnswer) -> Plan:
    """Return the wiring of the answer's topoopt fabric as a plan of its traffic per second.

    Raises
    ------
    InvalidInput
        If there is one server only, or topoopt is not among its fabrics.
    Infeasible
        If nothing is sent between servers.
    """
    model, network = answer.question.machine.model, answer.question.network
    if network is None:
        raise InvalidInput("out: all accelerators are in one server; there is nothing to wire")
    if answer.question.cells > 1:
        raise InvalidInput(
            f"out: a plan is of one network, and there are {answer.question.cells} alike; ask for one cell, with "
            f"{answer.question.limits.accelerators} accelerators and its share of the rate"
        )
    row = answer.row_of(OWN)
    if row is None:
        raise InvalidInput("out: topoopt is not among the fabrics, and only its cables are a plan; add it")
    on = row.served.on
    load = row.rate_per_s
    traffic = at_rate(on.per_request, load).as_traffic()
    if not len(traffic.transfers) and not traffic.allreduce:
        raise Infeasible(f"out: {model.name} sends nothing between servers; there is nothing to wire")
    name = f"{model.name} served"
    job = traffic_job(
        name, traffic, network.cluster, f"a second of serving {model.name} at {load:.4g} requests/s"
    )
    plan = plan_on(job, on.fabric, network.priced.pricing)
    return replace(plan, terms=network.priced.terms, served=served_figures(answer, row))


def served_figures(answer: ServingAnswer, own: OnOneFabric) -> ServedFigures:
    """Return the serving figures of a plan's fabric and of the others."""
    goals, winner = answer.question.objectives, answer.winner
    assert winner is not None
    rows = [own, *(row for row in answer.fabrics if row is not own)]
    return ServedFigures(
        answer.question.machine.model.name,
        own.rate_per_s,
        goals.ttft_s,
        goals.tpot_s,
        goals.share,
        winner.fabric,
        answer.matters,
        tuple(_served(answer, row) for row in rows),
    )


def _served(answer: ServingAnswer, row: OnOneFabric) -> ServedOnFabric:
    values = {**answer.fabric_row(row), "deployment": row.evaluated.words}
    return ServedOnFabric(**{column.name: values[column.name] for column in fields(ServedOnFabric)})


def planned_service(
    source: str, words: Mapping[str, Any], fabrics: Sequence[str] | None, on_progress: Progress
) -> Plan:
    """Return the plan of a job that serves a model: its wiring on topoopt, beside other fabrics.

    Raises
    ------
    InvalidInput
        For a word that is not of a service, or an invalid value.
    Infeasible
        As :func:`topoopt.serving`, and if nothing is sent between servers.
    """
    usual = defaults(PlanWords)
    said = {name: value for name, value in words.items() if value != usual.get(name)}
    for word in said:
        if word not in OF_PLAN:
            raise InvalidInput(
                f"{word}: is of a training, but {source} serves a model; its own words stand in the file"
            )
    if fabrics is not None:
        said["fabrics"] = tuple(dict.fromkeys((OWN, *fabrics)))
    question = served_question(source, said)
    if question.network is None:
        raise InvalidInput(f"{source}: all of its accelerators are in one server; there is nothing to wire")
    answer = serve(question, on_progress)
    return replace(
        serving_plan(answer), origin=(("serves", answer.question.machine.model.name), ("file", source))
    )
