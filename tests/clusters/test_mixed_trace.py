"""The mixed trace has its kinds in their shares, at the load asked for, on any cluster that has room for them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters import MixedTraceSettings, mixed_trace, read_trace, write_trace
from topoopt.clusters.trace import check_models
from topoopt.clusters.trace_generator import mixed_kinds

KINDS = {(kind.model, kind.training): kind for kind in mixed_kinds()}


def test_every_kind_gets_its_share_to_within_one_job() -> None:
    jobs = mixed_trace(MixedTraceSettings(jobs=250), 4096).jobs
    found = Counter((job.model, job.training) for job in jobs)
    total = sum(kind.share for kind in KINDS.values())
    for key, kind in KINDS.items():
        assert abs(found[key] - 250 * kind.share / total) < 1 + 1e-9, key


@pytest.mark.parametrize("servers", [8, 24, 432, 4096])
def test_no_job_has_more_than_a_quarter_of_the_cluster_or_other_sizes_than_its_kind(servers: int) -> None:
    for job in mixed_trace(MixedTraceSettings(jobs=60), servers).jobs:
        kind = KINDS[job.model, job.training]
        assert kind.servers_low <= job.servers <= min(kind.servers_high, servers // 4)
        assert job.job.startswith(kind.kind)


def test_the_load_is_what_jobs_ask_for_over_what_there_is() -> None:
    """The mean over many draws of two days is within four standard errors of the load."""
    offered = []
    for seed in range(40):
        settings = MixedTraceSettings(load=0.6, horizon_s=2 * 86400.0, seed=seed)
        jobs = mixed_trace(settings, 432).jobs
        offered.append(sum(job.servers * job.duration_s for job in jobs) / (432 * settings.horizon_s))
        assert max(job.arrival_s for job in jobs) < settings.horizon_s
    error = float(np.std(offered, ddof=1)) / np.sqrt(len(offered))
    assert np.mean(offered) == pytest.approx(0.6, abs=4 * error)


def test_it_is_drawn_by_the_seed_alone_and_kept_in_a_file(tmp_path: Path) -> None:
    settings = MixedTraceSettings(jobs=30, seed=3)
    trace = mixed_trace(settings, 432)
    assert trace == mixed_trace(settings, 432)
    assert trace != mixed_trace(replace(settings, seed=4), 432)
    check_models(trace)
    write_trace(tmp_path / "mixed.csv", trace)
    assert read_trace(tmp_path / "mixed.csv").jobs == trace.jobs


def test_numbers_of_a_kind_say_where_they_are_from() -> None:
    assert all(kind.source for kind in mixed_kinds())


@pytest.mark.parametrize(
    ("changes", "servers", "message"),
    [
        ({"load": 0.0}, 432, "load: expected a number > 0, got 0"),
        ({"horizon_s": -1.0}, 432, "horizon_s: expected a number > 0"),
        ({"jobs": 10**7}, 432, "jobs: expected 1 .. 1,000,000"),
        ({"seed": -1}, 432, "seed: must be >= 0"),
        ({}, 7, "servers 7: the smallest jobs of mixed need a quarter of 8"),
        ({"horizon_s": 1e-6}, 432, "load: no job comes within the horizon"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, float], servers: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        mixed_trace(MixedTraceSettings(**changes), servers)  # type: ignore[arg-type]
