"""From a request for a transformer to a job: machines of the catalogue, ranked configurations, layouts."""

import json
from pathlib import Path
from typing import Any

import pytest

import topoopt.search.training_job
from topoopt.base.errors import Infeasible, InvalidInput, TopoOptError
from topoopt.jobs import Job, JobRequest, job_from_mapping, job_traffic, transformer_of
from topoopt.search import SearchOptions, is_transformer, job_of, make_plan

TINY = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "intermediate_size": 4096,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
"""A Llama of 200 million parameters."""


def request(tmp_path: Path, **training: Any) -> JobRequest:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    return JobRequest(
        config=str(path),
        training={"accelerators": 32, "global_batch": 32, **training},
        cluster={"degree": 4, "link_bandwidth_bps": 100e9},
    )


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return job_of(request(tmp_path_factory.mktemp("model"), candidates=4))


def test_machines_are_those_of_the_catalogue(job: Job) -> None:
    cluster = job.cluster
    assert (cluster.servers, cluster.accelerators_per_server, cluster.accelerator) == (4, 8, "h100")
    assert cluster.intra_server_bandwidth_bps == 450e9 * 8
    assert (job.settings.precision, job.global_batch) == ("bf16", 32)


def test_layouts_differ_in_a_degree_and_are_ranked(job: Job) -> None:
    training = transformer_of(job)
    usual = [layout for layout in training.layouts if layout.order == "tp-cp-ep-dp-pp"]
    degrees = [tuple(layout.configuration[key] for key in ("tp", "pp", "dp", "cp", "ep")) for layout in usual]
    assert len(set(degrees)) == len(degrees) == 4
    times_s = [layout.estimated_s for layout in usual]
    assert times_s == sorted(times_s) or max(times_s) / min(times_s) < 2
    assert all(layout.total_memory_bytes <= training.capacity_bytes for layout in training.layouts)
    assert training.considered > 100


def test_other_orders_of_ranks_are_other_servers(tmp_path: Path) -> None:
    """Four stages of two accelerators: a server holds one stage of four replicas, or all stages of one."""
    job = job_of(request(tmp_path, tp=2, pp=4, candidates=1))
    first, second = (layout.step.part_servers[:, :, 0] for layout in transformer_of(job).layouts)
    assert (first == [[stage] * 4 for stage in range(4)]).all()
    assert (second == [[0, 1, 2, 3]] * 4).all()
    traffics = [job_traffic(job, strategy) for strategy in job.work.choices(job.cluster.servers)]
    assert traffics[0].mp_bytes > 0 == traffics[1].mp_bytes
    assert traffics[0].allreduce_bytes == 0 < traffics[1].allreduce_bytes


def test_what_is_fixed_is_not_searched(tmp_path: Path) -> None:
    job = job_of(request(tmp_path, tp=4, pp=2, micro_batch=2, recompute="full", zero=1, candidates=3))
    for layout in transformer_of(job).layouts:
        said = layout.configuration
        assert (said["tp"], said["pp"], said["micro_batch"], said["recompute"], said["zero"]) == (
            4,
            2,
            2,
            "full",
            1,
        )


def test_a_plan_comes_out(job: Job) -> None:
    plan = make_plan(job, SearchOptions(), fabrics=("ideal-switch", "rail"))
    assert plan.bounds.lower_bound_s <= plan.outcome.iteration_time_s
    assert len(plan.search.seed_times_s) == len(transformer_of(job).layouts)


def test_a_job_file_says_the_same(tmp_path: Path, job: Job) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    said = {
        "config": "config.json",
        "training": {"accelerators": 32, "global_batch": 32, "candidates": 4},
        "cluster": {"degree": 4, "link_bandwidth": "100 Gbps"},
    }
    again = job_of(job_from_mapping(said, tmp_path / "job.yaml"))
    assert again.cluster == job.cluster
    assert [a.name for a in transformer_of(again).layouts] == [b.name for b in transformer_of(job).layouts]


def test_names_of_both_zoos() -> None:
    assert not is_transformer(JobRequest(model="bert"))
    assert not is_transformer(JobRequest(model="dlrm-16"))
    assert is_transformer(JobRequest(model="llama3-70b"))
    with pytest.raises(
        InvalidInput, match=r'unknown name "llama3-7b"; did you mean llama3-70b.* topoopt models'
    ):
        is_transformer(JobRequest(model="llama3-7b"))


MISTAKES: tuple[tuple[JobRequest, str], ...] = (
    (JobRequest(model="dlrm", training={"accelerators": 63}), "accelerators: 63 do not fill servers of 4"),
    (JobRequest(model="dlrm", training={"tp": 2}), "tp: .* dlrm is none; leave it out"),
    (JobRequest(model="gpt3-175b", training={"accelerators": 100}), "nearest: 96 or 104"),
    (
        JobRequest(model="gpt3-175b", training={"accelerators": 8}),
        "all are in one scale-up domain.*",
    ),
    (
        JobRequest(model="gpt3-175b", cluster={"servers": 8}, training={"accelerators": 128}),
        "are 16 servers of 8",
    ),
    (JobRequest(model="gpt3-175b", variant="x"), "^variant: .* is a transformer; leave it out"),
    (JobRequest(model="gpt3-175b", batch_per_accelerator=8), "^batch_per_accelerator: .*; give global_batch"),
    (JobRequest(model="gpt3-175b", settings={"bucket_bytes": 1}), "^bucket: is for graphs of operators"),
    (JobRequest(model="gpt3-175b", training={"seq": 10**6}), "at most 2048"),
    (JobRequest(model="gpt3-175b", training={"accelerators": 64, "tp": 7}), "^tp 7"),
    (JobRequest(model="gpt3-175b", training={"accelerators": 16}), "gpt3-175b does not fit on 16"),
    (
        JobRequest(model="gpt3-175b", cluster={"accelerator": "mi250x"}),
        "^intra_server_bandwidth: the catalogue",
    ),
)


@pytest.mark.parametrize(
    ("request_", "said"), MISTAKES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_does_not_go_together(request_: JobRequest, said: str) -> None:
    with pytest.raises(TopoOptError, match=said):
        job_of(request_)


def test_more_servers_than_memory_holds_pairs_of_are_refused_before_anything_is_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranking the configurations of a million accelerators took 22 s of CPU, and then the pairs did not fit."""
    monkeypatch.delattr("topoopt.search.training_job.search_configurations")
    monkeypatch.setattr("topoopt.base.limits.available_bytes", lambda: 16e9)
    with pytest.raises(Infeasible, match="servers 125000: needs 698 GiB of memory"):
        job_of(request(tmp_path, accelerators=1_000_000))


def test_words_of_a_training_reach_the_configuration_and_its_memory(tmp_path: Path) -> None:
    plain = transformer_of(job_of(request(tmp_path, tp=2, pp=1, candidates=1))).layouts[0]
    words = {"framework": "deepspeed", "sequence_parallel": False, "attention": "eager"}
    other = transformer_of(job_of(request(tmp_path, tp=2, pp=1, candidates=1, **words))).layouts[0]
    assert other.configuration["sequence_parallel"] is False
    assert other.memory_bytes != plain.memory_bytes


def test_stages_are_cut_unevenly_only_if_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="pp 16"):
        job_of(request(tmp_path, tp=1, pp=16))
    with pytest.raises(InvalidInput, match=r"pp 3: .*nearest: 2, 4"):
        job_of(request(tmp_path, pp=3, accelerators=24, global_batch=24))
    uneven = job_of(request(tmp_path, pp=3, accelerators=24, global_batch=24, uneven_stages=True))
    assert {layout.configuration["pp"] for layout in transformer_of(uneven).layouts} == {3}


def test_any_schedule_is_tried_if_that_is_asked_for(tmp_path: Path) -> None:
    """With four stages of one chunk the bubble is what a split backward pass fills; a plan comes out of it."""
    pinned = {"pp": 4, "vpp": 1, "tp": 2, "candidates": 1}
    plain, any_order = (
        job_of(request(tmp_path, **pinned, **words)) for words in ({}, {"any_schedule": True})
    )
    assert {one.configuration["schedule"] for one in transformer_of(plain).layouts} == {"1f1b"}
    (schedule,) = {one.configuration["schedule"] for one in transformer_of(any_order).layouts}
    assert schedule in ("zero-bubble", "dualpipe")
    plans = [make_plan(job, SearchOptions(), fabrics=()) for job in (plain, any_order)]
    assert plans[1].outcome.iteration_time_s < plans[0].outcome.iteration_time_s


def test_of_large_simulations_fewer_are_made_unless_their_number_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topoopt.search.training_job, "MOST_SIMULATED", 1)
    assert len({one.name for one in transformer_of(job_of(request(tmp_path))).layouts}) <= 2
    assert len(transformer_of(job_of(request(tmp_path, candidates=4))).layouts) >= 4
