"""A graph of operators on a fabric: the best of a few strategies simulated, an answer that a search improves."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.cost import Pricing, pricing_of
from topoopt.errors import Infeasible
from topoopt.finder import LIFTED, USUAL_RULES, FinderRules, find_topology
from topoopt.job import Job, job_traffic
from topoopt.routing import Fabric
from topoopt.search import (
    BASELINE_RULES,
    baseline_fabric,
    few_strategies,
    job_of,
    ringed,
    simulated,
)
from topoopt.simulate import SimResult
from topoopt.strategy import ParallelStrategy
from topoopt.studio.fabric_rules import DIRECT, OWN, RULES, FabricRule
from topoopt.studio.question import Question, machines_of, request_of_question

SEED = 0
PLAIN = "data parallel"
"""What the first of the few strategies is called."""
WAYS = tuple(
    replace(USUAL_RULES, degree_split=split, wiring=LIFTED, group_rings=LIFTED)
    for split in ("proportional", "by-group-but-one", "by-group")
)
"""How the finder wires a strategy here; a plan tries more, and searches."""
SWITCH = "ideal-switch"
CHOSEN_AT_DEGREE, CHOSEN_AT_BPS = 4, 100e9
"""Of the switch on which the strategy of all fabrics is chosen, once for all ports of the same machines."""


@dataclass(frozen=True, slots=True)
class SimulatedTime:
    """What a strategy takes on a fabric, and on one of which nothing has to be waited for."""

    strategy: str
    iteration_time_s: float
    free_time_s: float
    parts_s: dict[str, float]


def plain_job(question: Question) -> Job:
    """Return the job of a question; what prices and years change is not in it.

    Raises
    ------
    InvalidInput
        If the model and the machines do not go together.
    """
    return _job(machines_of(question))


def strategies_of(question: Question) -> tuple[tuple[str, ParallelStrategy], ...]:
    """Return data parallelism and the best of a few strategies on one switch, each with what it is called.

    For other ports of the same machines they are the same.

    Raises
    ------
    Infeasible
        If memory is enforced and nothing fits.
    """
    return _chosen(
        replace(
            machines_of(question),
            degree=min(CHOSEN_AT_DEGREE, question.degree),
            bandwidth_bps=CHOSEN_AT_BPS,
        )
    )


def simulated_time(
    job: Job, strategies: Sequence[tuple[str, ParallelStrategy]], rule: FabricRule, pricing: Pricing
) -> SimulatedTime:
    """Return the simulated iteration on a fabric: of the last strategy, where servers relay of the fastest.

    Raises
    ------
    InvalidInput
        If the fabric cannot be built of these ports.
    """
    tried = strategies if rule.key in DIRECT else strategies[-1:]
    rows = [
        _simulated(job, name, one, fabric)
        for name, one in tried
        for fabric in _fabrics(job, one, rule, pricing, WAYS[:1] if name == PLAIN else WAYS)
    ]
    return min(rows, key=lambda found: found.iteration_time_s)


def _simulated(job: Job, name: str, strategy: ParallelStrategy, fabric: Fabric) -> SimulatedTime:
    result = simulated(job, strategy, ringed(job, strategy, fabric, SEED))
    free_s = float(result.compute_finish_s.max(initial=0.0))
    return SimulatedTime(name, result.iteration_time_s, free_s, _parts(result))


@lru_cache(maxsize=16)
def _job(question: Question) -> Job:
    return job_of(request_of_question(question))


@lru_cache(maxsize=32)
def _chosen(question: Question) -> tuple[tuple[str, ParallelStrategy], ...]:
    job = plain_job(question)
    known = few_strategies(job)
    switch = baseline_fabric(job, BASELINE_RULES[SWITCH], pricing_of(), SEED)
    times_s = {
        name: simulated(job, one, ringed(job, one, switch, SEED)).iteration_time_s
        for name, one in known.items()
    }
    best = min(times_s, key=times_s.__getitem__)
    return tuple((name, one) for name, one in known.items() if name in (PLAIN, best))


def _fabrics(
    job: Job, strategy: ParallelStrategy, rule: FabricRule, pricing: Pricing, ways: Sequence[FinderRules]
) -> list[Fabric]:
    """Return the fabric, or what the finder wires for the strategy in some ways."""
    if rule.key != OWN:
        return [baseline_fabric(job, RULES[rule.key], pricing, SEED)]
    found = []
    for rules in ways:
        with suppress(Infeasible):  # a wiring that there is not for so many ports
            found.append(_wired(job, strategy, rules))
    return found or [_wired(job, strategy, USUAL_RULES)]


def _wired(job: Job, strategy: ParallelStrategy, rules: FinderRules) -> Fabric:
    cluster = job.cluster
    return find_topology(
        job_traffic(job, strategy),
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=rules,
        seed=SEED,
    )


def _parts(result: SimResult) -> dict[str, float]:
    waiting_s = max(result.iteration_time_s - result.compute_time_s, 0.0)
    return {"compute_s": result.compute_time_s, "communication_s": waiting_s}
