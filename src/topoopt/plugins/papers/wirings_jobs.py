"""Jobs of the study "beyond strides": a strategy searched on every wiring, and plans, which wire for the job."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from topoopt.catalog import ClusterSpec
from topoopt.collectives import QUICKEST
from topoopt.finder import USUAL_RULES
from topoopt.jobs import AUTO_BUCKET, Job, JobRequest, JobSettings, job_traffic, make_job
from topoopt.plans import Outcome
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.published_jobs import MODEL_TITLES, times
from topoopt.plugins.papers.wirings_fabrics import DIRECT, EXPANDER, TORUS, WIRED, Size, wired
from topoopt.routing import Fabric
from topoopt.search import (
    Candidate,
    SearchOptions,
    balanced,
    fixed_fabric,
    for_search,
    job_of,
    make_plan,
    ringed,
    simulated,
    simulated_candidate,
    starting_strategy,
    with_gradients_settled,
)
from topoopt.simulation import SimResult
from topoopt.workloads import Traffic, load_model
from topoopt.workloads.strategy import ParallelStrategy

EXPERT_TITLES = {"mixtral-8x22b": "Mixtral", "deepseek-v3": "DeepSeek"}
TITLES = {**MODEL_TITLES, **EXPERT_TITLES}


AS_A_PLAN = JobSettings(bucket_bytes=AUTO_BUCKET, collective=QUICKEST)
"""Buckets of gradients and algorithms by message, whichever are the fastest, as a plan has them."""


@cache
def study_job(model: str, size: Size) -> Job:
    """Return a model of either zoo on so many servers: with four A100 each, a mixture of experts with eight H100."""
    if model in EXPERT_TITLES:
        cluster = {"servers": size.servers, "degree": size.degree, "link_bandwidth_bps": size.bandwidth_bps}
        return job_of(JobRequest(model=model, cluster=cluster))
    cluster_spec = ClusterSpec(size.servers, size.degree, size.bandwidth_bps)
    return make_job(load_model(model, servers=size.servers), cluster_spec, AS_A_PLAN)


PLANS: Mapping[str, Mapping[str, Any]] = {
    "plan, strides": {"wirings": "strides"},
    "plan, any wiring": {"wirings": "any"},
}
"""Options of the search for plans, by the name of their rows."""


def wired_rows(model: str, size: Size, options: SearchOptions) -> Iterator[Row]:
    """Yield a model on each wiring, with the best of all strategies that were found on any of them.

    Transfers are shifted from full links to other paths on all wirings without switches alike, as a plan's are.
    """
    asked = study_job(model, size)
    job = for_search(asked)
    fabrics = {name: wired(name, size, options.seed) for name in WIRED}
    strategies = _strategies(job, tuple(fabrics.values()), options)
    for name, fabric in fabrics.items():
        best = _fastest(job, strategies, fabric, options.seed)
        if name in DIRECT:
            best = balanced(job, best)
        _, best, _ = with_gradients_settled(job, asked, best)
        yield _row(model, name, size, job_traffic(job, best.strategy), best.result)


def plan_row(model: str, name: str, size: Size, seed: int) -> Row:
    """Return the plan of a model, whose wiring is chosen with its strategy."""
    options = SearchOptions(seed=seed, processes=1, **PLANS[name])
    # Baselines of the same ports are candidates for a plan of any wiring.
    fabrics = (EXPANDER, TORUS) if options.wirings == "any" else ()
    plan = make_plan(study_job(model, size), options, fabrics=fabrics, weigh_routes=False)
    row = _row(model, name, size, job_traffic(plan.job, plan.strategy), plan.outcome)
    return {**row, "wiring": "" if plan.wiring is None else plan.wiring.family}


def _strategies(job: Job, fabrics: Sequence[Fabric], options: SearchOptions) -> tuple[ParallelStrategy, ...]:
    """Return every layout of a transformer; else what a search finds on each fabric, and where it starts."""
    layouts = job.work.choices(job.cluster.servers)
    if layouts:
        return tuple(layouts)
    starts = (starting_strategy(job),)
    rngs = (np.random.default_rng(options.seed) for _ in fabrics)
    found = [
        fixed_fabric(job, fabric, options, options.budget, rng, starts).strategy
        for fabric, rng in zip(fabrics, rngs, strict=True)
    ]
    return tuple(dict.fromkeys((*starts, *found)))


def _fastest(job: Job, strategies: Sequence[ParallelStrategy], fabric: Fabric, seed: int) -> Candidate:
    best: Candidate | None = None
    for strategy in strategies:
        ready = ringed(job, strategy, fabric, seed)
        row = simulated_candidate(job, strategy, ready, USUAL_RULES, simulated(job, strategy, ready))
        best = row if best is None or row.time_s < best.time_s else best
    assert best is not None
    return best


def _row(model: str, name: str, size: Size, traffic: Traffic, result: SimResult | Outcome) -> Row:
    return {
        "what": "job",
        "fabric": name,
        "servers": size.servers,
        "degree": size.degree,
        "model": model,
        **times(result),
        "allreduce_bytes": traffic.allreduce_bytes,
        "mp_bytes": traffic.mp_bytes,
    }
