"""A plan on links that are given: known traffic, simulated on a fabric that was wired elsewhere."""

from dataclasses import asdict

from topoopt.base.provenance import Provenance
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Plan, SearchRecord
from topoopt.pricing import Pricing
from topoopt.routing import Fabric
from topoopt.search.candidate import candidate_on
from topoopt.search.chosen_wiring import chosen_wiring
from topoopt.search.gap_parts import gap_parts
from topoopt.search.options import SearchOptions
from topoopt.search.planner import priced
from topoopt.search.worth import bounds, outcome, routing_gap


def plan_on(job: Job, fabric: Fabric, prices: Pricing) -> Plan:
    """Return the plan of a job of known traffic on a fabric, as every verb and every format takes one."""
    options = SearchOptions()
    strategy = job.work.plain_strategy(job.cluster.servers)
    best = candidate_on(job, strategy, fabric, options.rules, options.seed)
    least = bounds(job, strategy, best.result)
    routing = routing_gap(best.fabric, job_traffic(job, strategy), best.result)
    figures = outcome(best.result)
    return Plan(
        job,
        strategy,
        best.fabric,
        figures,
        least,
        routing,
        SearchRecord(0, "links were given", (best.time_s,), (), 0.0),
        Provenance(options.seed, {}),
        figures,
        {key: value for key, value in asdict(options).items() if key != "processes"},
        (),
        priced(job, prices),
        (),
        best.rules,
        wiring=chosen_wiring(job, best, ()),
        gap_parts=gap_parts(
            job, strategy, best.fabric, best.result, least, optimal_load_s=routing.optimal_load_s
        ),
    )
