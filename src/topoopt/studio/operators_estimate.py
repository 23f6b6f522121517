"""A graph of operators on a fabric: the plainest strategies simulated, which is an answer that a search improves."""

from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.cost import PartTable
from topoopt.finder import USUAL_RULES, find_topology
from topoopt.job import Job, job_traffic
from topoopt.routing import Fabric
from topoopt.search import (
    BASELINE_RULES,
    baseline_fabric,
    bounds,
    job_of,
    ringed,
    simulated,
    starting_strategy,
)
from topoopt.simulate import SimResult
from topoopt.strategy import ParallelStrategy
from topoopt.studio.fabric_rules import OWN, FabricRule
from topoopt.studio.question import Question, request_of_question

SEED = 0


@dataclass(frozen=True, slots=True)
class PlainTime:
    """What the plainest strategy takes on a fabric."""

    iteration_time_s: float
    parts_s: dict[str, float]
    bound_s: float


@lru_cache(maxsize=16)
def job_of_question(question: Question) -> Job:
    """Return the job of a question; equal questions have the same one.

    Raises
    ------
    InvalidInput
        If the model and the machines do not go together.
    """
    return job_of(request_of_question(question))


def plain_time(job: Job, rule: FabricRule, prices: PartTable) -> PlainTime:
    """Return the simulated iteration of data parallelism with tables spread over the servers.

    Raises
    ------
    InvalidInput, Infeasible
        If the fabric cannot be built of these ports, or nothing fits in memory.
    """
    strategy = _strategy(job)
    result = simulated(job, strategy, _fabric(job, strategy, rule, prices))
    return PlainTime(result.iteration_time_s, _parts(result), bounds(job, strategy, result).lower_bound_s)


def plain_job(question: Question) -> Job:
    """Return the job without what prices and years change.

    Raises
    ------
    InvalidInput
        If the model and the machines do not go together.
    """
    return job_of_question(replace(question, prices=None, years=1.0))


@lru_cache(maxsize=16)
def _strategy(job: Job) -> ParallelStrategy:
    return starting_strategy(job)


def _fabric(job: Job, strategy: ParallelStrategy, rule: FabricRule, prices: PartTable) -> Fabric:
    if rule.key != OWN:
        return ringed(job, strategy, baseline_fabric(job, BASELINE_RULES[rule.key], prices, SEED), SEED)
    cluster = job.cluster
    found = find_topology(
        job_traffic(job, strategy),
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=USUAL_RULES,
        seed=SEED,
    )
    return ringed(job, strategy, found, SEED)


def _parts(result: SimResult) -> dict[str, float]:
    return {
        "compute_s": result.compute_time_s,
        "communication_s": max(result.iteration_time_s - result.compute_time_s, 0.0),
    }
