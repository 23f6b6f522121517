"""The noun Candidate: a strategy on a fabric that is wired for it, simulated; and how the finder wires one."""

from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.errors import Infeasible
from topoopt.finder import STRIDES, USUAL_RULES, FinderRules, find_topology
from topoopt.job import Job, JobSettings, job_traffic
from topoopt.routing import Fabric
from topoopt.search.worth import simulated, with_rings
from topoopt.simulate import SimResult
from topoopt.strategy import ParallelStrategy
from topoopt.traffic import Traffic

WHOLE = "all-to-allreduce"
"""The degree split that gives every interface to the wiring of all servers."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """What may become the plan.

    Attributes
    ----------
    fabric : Fabric
        With rings of exactly the groups that the strategy has.
    result : SimResult
        Of one iteration.
    rules : FinderRules
        By which the fabric was wired.
    job : Job
        As which it was simulated.
    """

    strategy: ParallelStrategy
    fabric: Fabric
    result: SimResult
    rules: FinderRules
    job: Job

    @property
    def time_s(self) -> float:
        """The simulated iteration time."""
        return self.result.iteration_time_s

    def simulated_again(self, job: Job) -> SimResult:
        """Simulate it as a job with other settings, where these are others."""
        same = job.work is self.job.work and _as_run(job) == _as_run(self.job)
        return self.result if same else simulated(job, self.strategy, self.fabric)


def _as_run(job: Job) -> JobSettings:
    """Return the settings of which a simulation knows."""
    return replace(job.settings, bucket_bytes=job.settings.usual_bucket_bytes)


def fabric_for(
    job: Job, strategy: ParallelStrategy, rules: FinderRules = USUAL_RULES, seed: int = 0
) -> Fabric:
    """Run the topology finder on a strategy's traffic.

    Where the degree split leaves all servers too few interfaces for the wiring of the rules, they get all of them.
    """
    try:
        return _found(job, strategy, rules, seed)
    except Infeasible:
        if rules.wiring == STRIDES or rules.degree_split == WHOLE:
            raise
        return _found(job, strategy, replace(rules, degree_split=WHOLE), seed)


def _found(job: Job, strategy: ParallelStrategy, rules: FinderRules, seed: int) -> Fabric:
    cluster = job.cluster
    return find_topology(
        _traffic(job, strategy),
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=rules,
        seed=seed,
    )


@lru_cache(maxsize=4)
def _traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    """Return what is wired for, once for all rules."""
    return job_traffic(job, strategy)


def wired_candidate(job: Job, strategy: ParallelStrategy, rules: FinderRules, seed: int) -> Candidate:
    """Return a strategy on the fabric that the finder wires for it."""
    return candidate_on(job, strategy, fabric_for(job, strategy, rules, seed), rules, seed)


def candidate_on(
    job: Job, strategy: ParallelStrategy, fabric: Fabric, rules: FinderRules, seed: int
) -> Candidate:
    """Return a strategy on a fabric that was wired by the rules for it or for one like it."""
    ready = with_rings(fabric, job_traffic(job, strategy), job.cluster.degree, seed)
    return Candidate(strategy, ready, simulated(job, strategy, ready), rules, job)
