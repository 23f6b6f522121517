"""The oracle of estimates: the same few strategies wired by the finder and simulated, on every fabric of the studio."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import OWN
from topoopt.finder import LIFTED, USUAL_RULES, find_topology
from topoopt.frontends.web.closed_form import FabricRule, fabric_rules
from topoopt.frontends.web.question import Question, request_of_question
from topoopt.jobs import Job, job_traffic
from topoopt.pricing import pricing_of
from topoopt.routing import Fabric
from topoopt.search import baseline_fabric, few_strategies, job_of, jobs_in_microbatches, ringed, simulated
from topoopt.workloads.strategy import ParallelStrategy

SPLITS = ("proportional", "by-group-but-one", "by-group-but-two", "by-group")
WIRINGS = (LIFTED, "matchings")
SEED = 0


def simulated_times(question: Question) -> dict[str, float]:
    """Return by rule the simulated iteration of the best of the strategies that the studio estimates."""
    job = job_of(request_of_question(question))
    cut = [
        replace(job, settings=replace(job.settings, microbatches=count))
        for count in jobs_in_microbatches(job)
    ]
    rules, _ = fabric_rules(job.cluster, pricing_of())
    strategies = tuple(few_strategies(job).values())
    times_s = {
        rule.key: min(
            simulated(other, one, ringed(other, one, fabric, SEED)).iteration_time_s
            for other in cut
            for one in strategies
            for fabric in _fabrics(other, one, rule)
        )
        for rule in rules
        if not rule.network.timed_as
    }
    return {rule.key: times_s[rule.network.timed_as or rule.key] for rule in rules}


def _fabrics(job: Job, strategy: ParallelStrategy, rule: FabricRule) -> Iterator[Fabric]:
    if rule.key != OWN:
        yield baseline_fabric(job, rule.size, pricing_of(), SEED)
        return
    for split, wiring in product(SPLITS, WIRINGS):
        with suppress(Infeasible, InvalidInput):  # a wiring that there is not for so many ports
            rules = replace(USUAL_RULES, degree_split=split, wiring=wiring)
            yield find_topology(
                job_traffic(job, strategy),
                degree=job.cluster.degree,
                bandwidth_bps=job.cluster.link_bandwidth_bps,
                latency_s=job.cluster.link_latency_s,
                links=job.cluster.links,
                rules=rules,
                seed=SEED,
            )
