"""``topoopt.serving_plan``: the cables, routes and traffic of a served model on topoopt, as a plan for all verbs."""

from topoopt.errors import Infeasible, InvalidInput
from topoopt.job import traffic_job
from topoopt.plan import Plan
from topoopt.search import plan_on
from topoopt.serving import ServingAnswer, at_rate

OWN = "topoopt"


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
    return plan_on(job, on.fabric, network.priced.pricing)
