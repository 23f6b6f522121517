"""Traces of CASSINI's evaluation hold what is published, and the load that is asked for."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters import Trace, TraceJob, cassini_trace, read_trace, write_trace
from topoopt.clusters.cassini_trace import (
    BATCHES,
    CASSINI_TRACES,
    CassiniTraceSettings,
    EvaluatedModel,
    cassini_snapshots,
    evaluated_models,
)
from topoopt.workloads import load_model
from topoopt.workloads.transformer import count_parameters, find_transformer

SERVERS = 24


def iteration_s(job: TraceJob) -> float:
    """A time that differs by model and workers, so that a load that forgets either is another."""
    return 0.1 + 0.02 * job.servers + 0.001 * len(job.model)


def drawn(kind: str, **settings: float) -> Trace:
    return cassini_trace(CassiniTraceSettings(kind, **settings), SERVERS, iteration_s)  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [0.8, 1.0])
def test_a_poisson_trace_has_its_load(load: float) -> None:
    trace = drawn("poisson", load=load, horizon_s=10 * 86400.0)
    server_s = sum(job.servers * job.iterations * iteration_s(job) for job in trace.jobs)
    assert server_s / (10 * 86400.0 * SERVERS) == pytest.approx(load, rel=0.06)


def test_jobs_are_within_the_published_ranges() -> None:
    ranges = {model.model: (model.batch_low, model.batch_high) for model in evaluated_models()}
    trace = drawn("poisson", load=0.9, horizon_s=86400.0)
    met: dict[str, set[int]] = {}
    for job in trace.jobs:
        low, high = ranges[job.model]
        assert low <= job.batch_per_accelerator <= high
        assert 2 <= job.servers <= 12
        assert 200 <= job.iterations <= 1000
        met.setdefault(job.model, set()).add(job.batch_per_accelerator)
    assert set(met) == set(ranges)
    assert all(len(batches) == BATCHES for batches in met.values())


def test_a_dynamic_trace_fills_the_cluster_after_the_others_have_come() -> None:
    for seed in range(20):
        jobs = drawn("dynamic", seed=seed).jobs
        first = sum(job.servers for job in jobs if job.arrival_s == 0)
        assert 15 <= first <= 16  # two thirds of 24, and no job of one worker
        assert 23 <= sum(job.servers for job in jobs) <= 24
        assert len({job.arrival_s for job in jobs}) == 2


@pytest.mark.parametrize(
    ("snapshot", "models", "batches"),
    [
        (1, ["WideResNet101", "VGG16"], [800, 1400]),
        (2, ["VGG19", "VGG16", "ResNet50"], [1400, 1700, 1600]),
        (3, ["VGG19", "VGG16"], [1024, 1200]),
        (4, ["RoBERTa", "RoBERTa"], [12, 12]),
        (5, ["BERT", "VGG19", "WideResNet101"], [8, 1400, 800]),
    ],
)
def test_snapshots_are_the_published_ones(snapshot: int, models: list[str], batches: list[int]) -> None:
    titles = {model.model: model.title for model in evaluated_models()}
    jobs = drawn(f"snapshot-{snapshot}").jobs
    assert [titles[job.model] for job in jobs] == models
    assert [job.batch_per_accelerator for job in jobs] == batches
    assert {job.arrival_s for job in jobs} == {0.0}


@pytest.mark.parametrize("row", [row for row in evaluated_models() if not row.training], ids=str)
def test_every_model_is_in_the_zoo_with_a_batch_of_the_range(row: EvaluatedModel) -> None:
    assert row.batch_low <= load_model(row.model).batch_per_accelerator <= row.batch_high


@pytest.mark.parametrize("row", [row for row in evaluated_models() if row.training], ids=str)
def test_weights_of_every_gpt_are_within_the_published_memory(row: EvaluatedModel) -> None:
    """In single precision, with their gradients; published is what a job takes, from its least to its largest."""
    low, high = (float(text) for text in row.published_mb.split("-"))
    assert low <= 2 * 4 * count_parameters(find_transformer(row.model)).total / 1e6 <= high


@pytest.mark.parametrize("kind", CASSINI_TRACES)
def test_a_trace_is_the_same_for_the_same_seed_and_survives_a_file(kind: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    trace = drawn(kind, seed=3, horizon_s=7200.0)
    assert trace == drawn(kind, seed=3, horizon_s=7200.0)
    write_trace(tmp_path / "t.csv", trace)
    assert read_trace(tmp_path / "t.csv").jobs == trace.jobs


def test_bad_settings_are_one_line() -> None:
    with pytest.raises(InvalidInput, match="trace_preset: unknown name"):
        CassiniTraceSettings("possion")
    with pytest.raises(InvalidInput, match="load: expected a number > 0, got 0"):
        CassiniTraceSettings("poisson", load=0.0)
    with pytest.raises(InvalidInput, match="no job comes within the horizon of 1e-06 s"):
        drawn("poisson", horizon_s=1e-6)


def test_there_are_five_snapshots() -> None:
    assert list(cassini_snapshots()) == [1, 2, 3, 4, 5]
