"""Transformers in a sweep: axes of their training, points as plan and compare have them, columns of their own."""

from pathlib import Path

import pytest

from tests.studies.sweep.conftest import MakeSweep
from topoopt.base.errors import InvalidInput
from topoopt.jobs import JobRequest, job_mfu, text_of_training, transformer_of
from topoopt.pricing import pricing_of
from topoopt.search import SearchOptions, compare_fabrics, job_of, make_plan
from topoopt.studies.sweep import Task, solve
from topoopt.studies.sweep.run import COLUMNS

SMALL = "models: gpt2\nservers: 4\naccelerators_per_server: 2\naccelerator: a100\n"


def test_a_point_is_what_plan_and_compare_say(sweep: MakeSweep) -> None:
    made = sweep(f"{SMALL}global_batch: 32\ncandidates: 2\nfabrics: [topoopt, torus]\n")
    own, torus = solve(Task(made.points, made.folder))
    assert (own.error, torus.error) == ("", "")
    cluster = {"servers": 4, "accelerators_per_server": 2, "accelerator": "a100"}
    job = job_of(JobRequest(model="gpt2", cluster=cluster, training={"global_batch": 32, "candidates": 2}))
    plan = make_plan(job, SearchOptions(), fabrics=("expander", "torus"))
    assert own.values["iteration_time_s"] == plan.outcome.iteration_time_s
    assert own.values["gap"] == plan.gap
    layout = transformer_of(job).layout(plan.strategy)
    assert own.values["strategy"] == layout.name
    assert {name: own.values[name] for name in ("tp", "pp", "dp")} == {
        name: layout.configuration[name] for name in ("tp", "pp", "dp")
    }
    assert own.values["mfu"] == job_mfu(job, plan.outcome.iteration_time_s)
    assert own.values["tokens_per_s"] == pytest.approx(32 * 1024 / plan.outcome.iteration_time_s)
    other = compare_fabrics(
        plan, SearchOptions(), pricing_of(made.points[0].prices), fabrics=("torus",)
    ).fabrics[1]
    assert torus.values["iteration_time_s"] == other.outcome.iteration_time_s
    assert set(own.values) <= set(COLUMNS)


def test_every_word_of_a_training_is_an_axis(sweep: MakeSweep) -> None:
    points = sweep(f"{SMALL}global_batch: [32, 64]\nseq: [512, 1024]\nadapter_rank: 8\n").points
    assert [point.training for point in points] == [
        text_of_training({"adapter_rank": 8, "global_batch": batch, "seq": seq})
        for batch in (32, 64)
        for seq in (512, 1024)
    ]
    assert len({point.digest for point in points}) == len({point.plan_digest for point in points}) == 4


def test_servers_may_be_said_as_accelerators(sweep: MakeSweep) -> None:
    text = "models: [gpt2, dlrm]\naccelerators: [16, 32]\naccelerators_per_server: 4\n"
    points = sweep(text).points
    assert [(point.model, point.servers) for point in points] == [
        ("gpt2", 4),
        ("gpt2", 8),
        ("dlrm", 4),
        ("dlrm", 8),
    ]
    with pytest.raises(InvalidInput, match="accelerators: servers are given, too"):
        sweep(f"{text}servers: 4\n")
    with pytest.raises(
        InvalidInput, match=r"sweep\.yaml: dlrm: accelerators 30: must be two or more servers of 4"
    ):
        sweep("models: dlrm\naccelerators: 30\naccelerators_per_server: 4\n")


def test_what_a_model_does_not_have_makes_no_other_point_of_it(sweep: MakeSweep) -> None:
    points = sweep("models: [gpt2, dlrm]\nservers: 4\nseq: [512, 1024]\nbudget: [10, 20]\n").points
    assert [(point.model, point.budget) for point in points] == [
        ("gpt2", 1000),
        ("gpt2", 1000),
        ("dlrm", 10),
        ("dlrm", 20),
    ]
    assert [point.training.split()[-1] for point in points[:2]] == ["seq=512", "seq=1024"]


def test_a_batch_for_each_accelerator_is_one_of_all(sweep: MakeSweep) -> None:
    (point,) = sweep(f"{SMALL}batch_per_accelerator: 3\n").points
    assert "global_batch=24" in point.training.split()
    with pytest.raises(InvalidInput, match="gpt2: global_batch: batch_per_accelerator says the batch, too"):
        sweep(f"{SMALL}batch_per_accelerator: 3\nglobal_batch: 24\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "models: dlrm\nservers: 4\nseq: 512\n",
            "seq: is for transformers, and no model of the sweep is one",
        ),
        (
            "models: gpt2\nservers: 4\nbucket: none\n",
            "bucket: is for models of operators, and no model of the sweep",
        ),
        ("models: gpt2\nservers: 4\nseq: 4096\n", "gpt2: seq 4096: gpt2 has 1024 learned positions"),
        ("models: gpt2\nservers: 4\ntp: 0\n", "tp.*: expected an integer >= 1"),
        ("models: gpt2\n", 'missing key "servers": expected an integer >= 2; or give accelerators'),
    ],
)
def test_a_mistake_is_one_line(sweep: MakeSweep, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"sweep.yaml: {message}") as caught:
        sweep(text)
    assert "\n" not in str(caught.value)


def test_what_fits_in_no_memory_is_an_answer_with_a_reason(sweep: MakeSweep) -> None:
    made = sweep("models: llama3-70b\nservers: 2\naccelerators_per_server: 1\naccelerator: a100\n")
    (answer,) = solve(Task(made.points, made.folder))
    assert answer.status == "infeasible"
    assert answer.error


def test_a_job_file_of_a_transformer_says_what_the_sweep_does_not(sweep: MakeSweep, tmp_path: Path) -> None:
    job = "model: gpt2\ntraining: {tp: 2, global_batch: 16}\ncluster: {accelerators_per_server: 2, servers: 8}\n"
    (tmp_path / "mine.yaml").write_text(job)
    made = sweep("models: mine.yaml\nservers: 4\naccelerator: a100\nseq: 512\n")
    (point,) = made.points
    assert (point.servers, point.accelerators_per_server) == (4, 2)
    assert point.training == "global_batch=16 seq=512"
    (answer,) = solve(Task(made.points, made.folder))
    assert (answer.values["tp"], answer.values["sequence"], answer.values["global_batch"]) == (2, 512, 16)
