"""A baseline is built again as it was, by its numbers."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from topoopt.catalog import sizings_of
from topoopt.jobs import Job
from topoopt.pricing import pricing_of
from topoopt.search import SearchOptions, compare_job, fabric_of_baseline, simulated, starting_strategy


def test_a_baseline_is_built_again_whatever_it_is_called(small_job: Callable[..., Job]) -> None:
    job = small_job(8)
    rows = compare_job(
        job,
        SearchOptions(baseline_budget=0),
        sizings_of(("fat-tree", "torus")),
        pricing_of("2022", "paper"),
        (starting_strategy(job),),
    ).rows
    assert [row.rule for row in rows] == ["fat-tree", "fat-tree-priced", "torus"]
    for row in rows:
        fabric = fabric_of_baseline(job, replace(row, description="in other words"), 0)
        out = np.bincount(fabric.topology.src, fabric.topology.bandwidth_bps)[:8]
        assert np.allclose(out, row.server_bandwidth_bps)
        assert simulated(job, row.strategy, fabric).iteration_time_s == row.outcome.iteration_time_s
