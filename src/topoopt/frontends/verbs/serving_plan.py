"""``topoopt.serving_plan``: the cables, routes and traffic of a served model on topoopt, as a plan for all verbs."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.frontends.verbs.progress import Progress
from topoopt.frontends.verbs.served_question import served_question
from topoopt.inference import OnOneFabric, ServingAnswer, at_rate, serve
from topoopt.jobs import traffic_job
from topoopt.plans import Plan, ServedFigures, ServedOnFabric
from topoopt.schema.words import PlanWords, PricingWords, RunningWords, defaults
from topoopt.search import plan_on

OWN = "topoopt"

MACHINES = (
    "servers", "accelerators", "degree", "bandwidth", "latency", "accelerator", "accelerators_per_server", "seed",
)  # fmt: skip
OF_PLAN = (*MACHINES, *PricingWords.__annotations__, *RunningWords.__annotations__)
"""Words of a plan that are of a service, too."""


def serving_plan(answer: ServingAnswer) -> Plan:
    """Return the wiring of an answer's topoopt as a plan of what it sends in a second.

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
    """Return what users meet on a plan's fabric and on the others."""
    goals, winner = answer.question.objectives, answer.winner
    assert winner is not None
    rows = [own, *(row for row in answer.fabrics if row is not own)]
    return ServedFigures(
        answer.question.machine.model.name,
        own.rate_per_s,
        goals.ttft_s,
        goals.tpot_s,
        goals.share,
        winner.name,
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
        For a word that is not of a service, or a value that is not allowed.
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
