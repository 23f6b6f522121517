"""Transformers in a trace: planned as topoopt plan does, on links of their own and on shared ones."""

from pathlib import Path

import pytest

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.clusters import (
    ClusterSettings,
    Machine,
    Trace,
    TraceJob,
    model_workers,
    read_trace,
    run_cluster,
    worker_profile,
)
from topoopt.clusters.cluster_state import dedicated_plan, reference_time_s, sharing_plan
from topoopt.clusters.job_shape import JobShape, shape_job
from topoopt.jobs import JobRequest, JobSettings, transformer_of
from topoopt.search import SearchOptions, job_of, make_plan

CLUSTER = ClusterSpec(16, 4, 100e9)
SETTINGS = ClusterSettings(CLUSTER, search=SearchOptions(budget=0, balance=False))
SMALL = JobShape("gpt2", 4, 0, "candidates=2 global_batch=64")
MACHINE = Machine(50e9, 1e-6, "a100", JobSettings(compute="roofline"), "flow")


def test_a_job_takes_what_a_plan_of_it_says() -> None:
    cluster = {"servers": 4, "degree": 4, "link_bandwidth_bps": 100e9, "accelerator": "a100"}
    words = {"candidates": 2, "global_batch": 64}
    request = JobRequest(model="gpt2", cluster={**cluster, "accelerators_per_server": 4}, training=words)
    job = job_of(request)
    plan = make_plan(job, SETTINGS.search, fabrics=("oversub-fat-tree",))
    assert dedicated_plan(SMALL, SETTINGS.planning).alone.mean_s == plan.outcome.iteration_time_s
    row = next(row for row in plan.baselines if row.fabric == "oversub-fat-tree")
    shared = sharing_plan(SMALL, "oversub-fat-tree", 4, 100e9, SETTINGS.planning)
    assert shared.alone.mean_s == pytest.approx(row.outcome.iteration_time_s, rel=1e-9)
    assert reference_time_s(SMALL, SETTINGS.planning) <= plan.outcome.iteration_time_s * 1.001


def test_jobs_of_one_shape_are_laid_out_once() -> None:
    assert shape_job(SMALL, SETTINGS.planning) is shape_job(SMALL, SETTINGS.planning)


def test_links_inside_a_server_are_those_of_the_catalogue_unless_said() -> None:
    shape = JobShape("gpt2", 4, 0, "candidates=1 dp=8 global_batch=64 pp=1 tp=2")
    usual = shape_job(shape, SETTINGS.planning)
    slow = ClusterSettings(CLUSTER, search=SETTINGS.search, scale_up_bps=10e9)
    assert usual.cluster.intra_server_bandwidth_bps > 1e12
    assert shape_job(shape, slow.planning).cluster.intra_server_bandwidth_bps == 10e9
    times = [transformer_of(job).layouts[0].estimated_s for job in (usual, shape_job(shape, slow.planning))]
    assert times[1] > 1.1 * times[0], "tensor parallel over slow links"


@pytest.fixture(scope="module")
def trace() -> Trace:
    words = "candidates=2 global_batch=64"
    return Trace(
        "t",
        (
            TraceJob("pre", "gpt2", 4, 0.0, iterations=2000, training=words),
            TraceJob("tune", "gpt2-medium", 2, 1.0, 0.0, 300.0, training=f"adapter_rank=8 {words}"),
            TraceJob("ads", "dlrm", 4, 2.0, duration_s=200.0),
            TraceJob("again", "gpt2", 4, 3.0, iterations=2000, training=words),
        ),
    )


def test_a_mixed_trace_runs_on_links_of_its_own_and_on_shared_ones(trace: Trace) -> None:
    result = run_cluster(trace, SETTINGS, ("topoopt", "fat-tree", "ideal-switch"))
    assert {run.fabric for run in result.fabrics} == {"topoopt", "fat-tree", "ideal-switch"}
    work = {tuple((job.job, job.iterations) for job in run.jobs) for run in result.fabrics}
    assert len(work) == 1, "the same work everywhere"
    own = result.fabrics[0]
    assert own.jobs[0].iteration_time_mean_s == pytest.approx(own.jobs[3].iteration_time_mean_s, rel=1e-12)
    alone_s = dedicated_plan(SMALL, SETTINGS.planning).alone.mean_s
    assert own.jobs[0].iteration_time_mean_s == pytest.approx(alone_s, rel=1e-9)
    for run in result.fabrics[1:]:
        assert run.jobs[2].end_s > run.jobs[2].start_s


def test_an_elastic_transformer_has_a_batch_for_each_accelerator() -> None:
    job = TraceJob("a", "gpt2", 4, 0.0, 100.0, 0.0, 2, 8, 4, "candidates=1")
    result = run_cluster(Trace("t", (job,)), SETTINGS, ("ideal-switch",))
    (record,) = result.fabrics[0].jobs
    assert record.iterations == 100.0
    large, small = (
        shape_job(JobShape("gpt2", size, 4, "candidates=1"), SETTINGS.planning) for size in (8, 4)
    )
    assert (large.global_batch, small.global_batch) == (128, 64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": "tpp=2"}, 'training: unknown key "tpp"'),
        ({"training": "accelerators=8"}, "training: accelerators: a job has those of its servers"),
        (
            {"training": "global_batch=8", "batch_per_accelerator": 2},
            "training: global_batch: the batch is in",
        ),
        ({"max_servers": 8}, "batch_per_accelerator: gpt2 may change its size"),
        ({"model": "dlrm", "training": "tp=2"}, "training: is for transformers, and dlrm is a graph"),
        ({"model": "llama3-9b"}, 'model: unknown name "llama3-9b"; did you mean llama3-8b'),
    ],
)
def test_what_does_not_go_together_is_one_line(changes: dict[str, object], message: str) -> None:
    plain: dict[str, object] = {
        "job": "a",
        "model": "gpt2",
        "servers": 4,
        "arrival_s": 0.0,
        "iterations": 1.0,
    }
    job = TraceJob(**{**plain, **changes})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=f"t: job a: {message}") as caught:
        run_cluster(Trace("t", (job,)), SETTINGS, ("topoopt",))
    assert "\n" not in str(caught.value)


def test_a_file_says_how_a_transformer_is_trained(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "id,model,servers,arrival_s,iterations,training\na,llama3-8b,4,0,9,adapter_rank=16 seq=2048\n"
    )
    (job,) = read_trace(path).jobs
    assert (job.model, job.training) == ("llama3-8b", "adapter_rank=16 seq=2048")
    path.write_text("id,model,servers,arrival_s,iterations,training\na,llama3-8b,4,0,9,adapter_rnk=16\n")
    with pytest.raises(InvalidInput, match=r"line 2: training: unknown key .*did you mean adapter_rank"):
        read_trace(path)


def test_what_fits_in_no_memory_is_refused() -> None:
    with pytest.raises(Infeasible):
        shape_job(JobShape("llama3-70b", 2, 0, "tp=4"), SETTINGS.planning)


def test_workers_of_a_transformer_send_and_one_alone_does_not() -> None:
    job = TraceJob("a", "gpt2", 3, 0.0, 10.0, 0.0, 2, 4, 8, "seq=512")
    make = model_workers(MACHINE)
    alone, three = make(job, 1), make(job, 3)
    assert not alone.profile.phases
    assert len(alone.src) == 0
    profile = worker_profile(job, 3, MACHINE)
    assert profile.job == "a"
    sent = sum(phase.duration_s * phase.bandwidth_bps for phase in profile.phases)
    kept = sum(phase.duration_s * phase.bandwidth_bps for phase in three.profile.phases)
    assert kept == pytest.approx(sent, rel=1e-9), "fewer phases, the same bytes"
    assert max(three.share) <= 1.0 + 1e-9
    assert three.profile.iteration_time_s > alone.profile.iteration_time_s
