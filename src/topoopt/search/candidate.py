"""The noun Candidate: a strategy on a fabric that is wired for it, simulated; and how the finder wires one."""

from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.base.errors import Infeasible
from topoopt.finder import STRIDES, USUAL_RULES, FinderRules, find_topology
from topoopt.jobs import Job, JobSettings, job_traffic
from topoopt.routing import Fabric
from topoopt.search.worth import simulated, with_rings
from topoopt.simulation import SimResult
from topoopt.workloads import Traffic
from topoopt.workloads.strategy import ParallelStrategy

LARGEST_TO_KEEP = 256
"""Servers up to which the simulation of a strategy of operators is kept with it. Of 1,024 that is 250 MB each."""

WHOLE = "all-to-allreduce"
"""The degree split that gives every interface to the wiring of all servers."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """What may become the plan.

    Attributes
    ----------
    fabric : Fabric
        With rings of exactly the groups that the strategy has.
    time_s : float
        The simulated iteration time.
    rules : FinderRules
        By which the fabric was wired.
    job : Job
        As which it was simulated.
    kept : SimResult, optional
        Of that simulation. Of many servers it is not kept, for the times of all tasks take a hundred bytes each.
    """

    strategy: ParallelStrategy
    fabric: Fabric
    time_s: float
    rules: FinderRules
    job: Job
    kept: SimResult | None

    @property
    def result(self) -> SimResult:
        """What was simulated, once more where it is not kept."""
        return self.kept or simulated(self.job, self.strategy, self.fabric)

    def time_again_s(self, job: Job) -> float:
        """Return the time as a job with other settings; that which is known where these are no others."""
        if self._runs_alike(job):
            return self.time_s
        return _time_again_s(self, job) if self.kept is None else self.result_again(job).iteration_time_s

    def result_again(self, job: Job) -> SimResult:
        """Return the same with all that was simulated."""
        return self.result if self._runs_alike(job) else simulated(job, self.strategy, self.fabric)

    def _runs_alike(self, job: Job) -> bool:
        return job.work is self.job.work and _as_run(job) == _as_run(self.job)

    def with_result(self, result: SimResult, job: Job, fabric: Fabric | None = None) -> "Candidate":
        """Return it as it was simulated as a job, or on another fabric."""
        time_s = result.iteration_time_s
        return replace(self, fabric=fabric or self.fabric, time_s=time_s, job=job, kept=result)

    def whole(self) -> "Candidate":
        """Return it with its simulation."""
        return self if self.kept is not None else replace(self, kept=self.result)


@lru_cache(maxsize=4)
def _time_again_s(candidate: Candidate, job: Job) -> float:
    """Return the time of a long simulation, once: strides are compared with the answer, and named beside it."""
    return simulated(job, candidate.strategy, candidate.fabric).iteration_time_s


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
        _traffic(job, strategy) if cluster.servers <= LARGEST_TO_KEEP else job_traffic(job, strategy),
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
    found = simulated_candidate(job, strategy, ready, rules, simulated(job, strategy, ready))
    large = job.cluster.servers > LARGEST_TO_KEEP and job.work.kind == "operators"
    return replace(found, kept=None) if large else found


def simulated_candidate(
    job: Job, strategy: ParallelStrategy, fabric: Fabric, rules: FinderRules, result: SimResult
) -> Candidate:
    """Return what was simulated, and keep that."""
    return Candidate(strategy, fabric, result.iteration_time_s, rules, job, result)
