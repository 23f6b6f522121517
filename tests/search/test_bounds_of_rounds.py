"""Bounds of an iteration of which only some micro-batches were simulated: those of all of them, or a little less."""

from dataclasses import asdict, replace

import pytest

from tests.jobs.training_jobs import small_training_job
from topoopt.jobs import Job, job_traffic, transformer_of
from topoopt.search import gap_parts, iteration_bounds, simulated
from topoopt.search.candidates.candidate import fabric_for, with_rings
from topoopt.simulation.pipeline import steady

MICRO_BATCHES = 160


def long_job(layout: int) -> Job:
    """Return the small job with one of its layouts, and many micro-batches."""
    job = small_training_job()
    work = transformer_of(job)
    chosen = work.layouts[layout]
    step = replace(chosen.step, micro_batches=MICRO_BATCHES)
    return replace(job, work=replace(work, layouts=(replace(chosen, step=step),)))


@pytest.mark.parametrize("layout", range(3))
@pytest.mark.parametrize("slower", [1.0, 50.0])
def test_bounds_of_few_rounds_are_those_of_all(
    layout: int, slower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With links of 100 Gb/s computing binds, with those of 2 Gb/s what stages send each other."""
    job = long_job(layout)
    cluster = replace(job.cluster, link_bandwidth_bps=job.cluster.link_bandwidth_bps / slower)
    job = replace(job, cluster=cluster)
    (strategy,) = job.work.choices(cluster.servers)
    fabric = with_rings(fabric_for(job, strategy), job_traffic(job, strategy), cluster.degree, 0)
    full = simulated(job, strategy, fabric)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    short = simulated(job, strategy, fabric)
    assert full.left_out is None
    assert short.left_out is not None
    of_all, of_few = iteration_bounds(job, strategy, full), iteration_bounds(job, strategy, short)
    for name, seconds in asdict(of_few).items():
        assert seconds <= asdict(of_all)[name] * (1 + 1e-9), name
    assert 0.9 * of_all.lower_bound_s <= of_few.lower_bound_s <= short.iteration_time_s * (1 + 1e-9)
    parts = gap_parts(job, strategy, fabric, short, of_few)
    assert parts is not None
    seconds_of = list(asdict(parts).values())
    assert min(seconds_of) >= 0
    gap_s = short.iteration_time_s - of_few.lower_bound_s
    assert sum(seconds_of) == pytest.approx(gap_s, rel=1e-9, abs=1e-12 * short.iteration_time_s)
