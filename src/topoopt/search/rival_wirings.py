"""Candidates that may beat the answer once its settings are chosen: other strategies, strides, and baselines.

A plan is never slower than a baseline that its own ports can be plugged into: then it is that baseline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import attrgetter

import numpy as np

from topoopt.base.workers import in_threads
from topoopt.catalog import ClusterSpec
from topoopt.collectives import QUICKEST
from topoopt.finder import WIRING_NAMES
from topoopt.jobs import Job
from topoopt.plans import Baseline, GradientChoice
from topoopt.routing import EcmpRoutes, Fabric
from topoopt.search.candidates.candidate import (
    WHOLE,
    Candidate,
    candidate_on,
    simulated,
    simulated_candidate,
    wired_candidate,
)
from topoopt.search.candidates.wiring_choice import best_strides, by_groups
from topoopt.search.fidelity_comparison import fabric_of_baseline
from topoopt.search.gradient_buckets import job_of_baseline, with_gradients_settled
from topoopt.search.microbatches import cut_strategies
from topoopt.search.options import SearchOptions
from topoopt.search.starting_strategies import fits
from topoopt.search.strategy_pool import strategy_pool
from topoopt.topologies import topology_from_arrays, wiring_of_arcs

_WHOLE_NUMBER = 1e-9
LARGEST_TO_RETRY = 256
"""Servers up to which other families than strides are looked at once more."""
NEAR = 1.03
"""Factor of the answer's time up to which buckets and algorithms of another wiring are tried."""
MOST_SERVERS = 2048
"""Servers times other strategies that are simulated with the answer's network, buckets and micro-batches."""
MOST_FINALISTS = 2
"""Other families of wirings that are looked at once more."""
ALIKE = 1e-9
"""Relative difference of iteration times that counts as equal."""
_FAMILY = {"full-mesh": "circulant"}
"""Baselines that the finder wires by the family of another name."""


@dataclass(frozen=True, eq=False, slots=True)
class SettledAnswer:
    """A candidate with its gradient buckets and algorithms, and the job that has these as its settings."""

    job: Job
    candidate: Candidate
    gradients: GradientChoice

    @property
    def time_s(self) -> float:
        """The simulated iteration time."""
        return self.candidate.time_s


def settled_answer(job: Job, asked: Job, candidate: Candidate) -> SettledAnswer:
    """Return the candidate with the fastest buckets and algorithms, given the job as searched and as requested."""
    return SettledAnswer(*with_gradients_settled(job, asked, candidate))


def unsettled_answer(job: Job, candidate: Candidate) -> SettledAnswer:
    """Return the candidate with the default buckets and micro-batches."""
    return SettledAnswer(replace(job, settings=job.settings.as_run), candidate.whole(), GradientChoice())


def preference_s(answer: SettledAnswer) -> float:
    """Return the time by which answers are compared: strides win ties, since they are the easiest to wire."""
    row = answer.candidate
    along = row.fabric.wiring is None and not by_groups(row)
    return answer.time_s * (1.0 if along else 1.0 + ALIKE)


def best_of_pool(job: Job, asked: Job, answer: SettledAnswer, options: SearchOptions) -> SettledAnswer:
    """Return the answer, or a strategy of the pool that is faster with its network, buckets and micro-batches.

    Parameters
    ----------
    job, asked : Job
        Job as searched, and as requested.
    """
    best, servers = answer.candidate, job.cluster.servers
    if servers > LARGEST_TO_RETRY:
        return answer
    pool = (row for row in strategy_pool(job, options) if row != best.strategy and fits(job, row))
    few = list(islice(pool, max(MOST_SERVERS // servers, 1)))
    on_fabric = partial(candidate_on, answer.job, fabric=best.fabric, rules=best.rules, seed=options.seed)
    others = in_threads(on_fabric, few)
    for strategy, count in cut_strategies(asked, options):
        cut = replace(answer.job, settings=replace(answer.job.settings, microbatches=count))
        others += [
            candidate_on(cut, strategy, best.fabric, best.rules, options.seed),
            wired_candidate(cut, strategy, options.rules, options.seed),
        ]
    other = min(others, key=attrgetter("time_s"), default=best)
    if other.time_s >= answer.time_s:
        return answer
    as_searched = other.with_result(simulated(job, other.strategy, other.fabric), job)
    return min(answer, settled_answer(job, asked, as_searched), key=attrgetter("time_s"))


def rivals(
    job: Job,
    asked: Job,
    answer: SettledAnswer,
    looked_at: Sequence[Candidate],
    baselines: Sequence[Baseline],
    options: SearchOptions,
) -> Iterator[SettledAnswer]:
    """Yield candidates faster than the answer: baselines that its ports can be plugged into, and strides.

    Parameters
    ----------
    job, asked : Job
        Job as searched, and as requested.
    """
    best = answer.candidate
    for other in _finalists(best, looked_at):
        if other.time_again_s(answer.job) < NEAR * answer.time_s:
            yield settled_answer(job, asked, other)
    for row in baselines:
        wiring = _FAMILY.get(row.fabric, row.fabric)
        if row.outcome.iteration_time_s < answer.time_s and wiring in WIRING_NAMES:
            fabric = plugged(fabric_of_baseline(job, row, options.seed), job.cluster)
            if fabric is not None:
                rules = replace(options.rules, degree_split=WHOLE, wiring=wiring)
                result = simulated(job, row.strategy, fabric)
                chosen = settled_answer(
                    job, asked, simulated_candidate(job, row.strategy, fabric, rules, result)
                )
                yield chosen
                too_slow = chosen.time_s > (1.0 + ALIKE) * row.outcome.iteration_time_s
                if asked.settings.collective == QUICKEST and too_slow:
                    yield _as_on_baseline(answer.job, row, chosen.candidate)


def _as_on_baseline(job: Job, row: Baseline, plugged_in: Candidate) -> SettledAnswer:
    """Return a baseline as a plan, with its own buckets and algorithms.

    An automatic choice drops algorithms that save less than
    :data:`~topoopt.search.gradient_buckets.WORTH_ALGORITHMS` with the buckets that are the best for rings.
    """
    own = job_of_baseline(job, row)
    collective = QUICKEST if row.outcome.algorithms else "stepped"
    own = replace(own, settings=replace(own.settings, collective=collective))
    return SettledAnswer(own, plugged_in.with_result(plugged_in.result_again(own), own), GradientChoice())


def _finalists(best: Candidate, looked_at: Sequence[Candidate]) -> list[Candidate]:
    """Return the fastest of each other family of wirings, and the best strides: buckets may suit them better.

    With many servers, only the strides are returned.
    """
    of_each: dict[str, Candidate] = {}
    for row in sorted(looked_at, key=lambda row: row.time_s):
        of_each.setdefault(_kind(row), row)
    of_each.pop(_kind(best), None)
    few = MOST_FINALISTS if len(best.strategy.splits) and best.strategy.servers <= LARGEST_TO_RETRY else 0
    rows, strides = list(of_each.values())[:few], best_strides(looked_at)
    return rows if strides is None or strides in rows or strides is best else [*rows, strides]


def _kind(row: Candidate) -> str:
    made = row.fabric.wiring
    return row.rules.degree_split if made is None else made.family


def plugged(fabric: Fabric, cluster: ClusterSpec) -> Fabric | None:
    """Return a fabric of direct links as the ports of the cluster make it; None where they cannot."""
    topology = fabric.topology
    cables = topology.bandwidth_bps / cluster.link_bandwidth_bps
    whole = np.rint(cables)
    if (
        topology.nodes > topology.servers
        or fabric.reconfiguration is not None
        or (np.abs(cables - whole) > _WHOLE_NUMBER * cables).any()
        or np.bincount(topology.src, whole, topology.servers).max() > cluster.degree
    ):
        return None
    ports = whole.astype(np.int64)
    arcs = np.repeat(topology.src, ports).astype(np.int64), np.repeat(topology.dst, ports).astype(np.int64)
    wiring = wiring_of_arcs(fabric.name, "duplex", topology.servers, cluster.degree, arcs)
    made = topology_from_arrays(
        topology.family,
        topology.servers,
        *arcs,
        cluster.link_bandwidth_bps,
        float(topology.latency_s[0]),
        offsets=topology.offsets,
    )
    # equal splits are exact on the links that the routes know; on others paths are listed, and not all of them
    routes = replace(fabric.routes, topology=made) if isinstance(fabric.routes, EcmpRoutes) else fabric.routes
    return replace(fabric, name="topoopt", topology=made, routes=routes, wiring=wiring)
