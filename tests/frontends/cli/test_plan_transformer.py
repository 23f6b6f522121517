"""A transformer through the verbs: planned, compared, simulated, priced, failed, rewired, drawn; or one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import Topoopt

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
WORDS = ("--accelerators", "32", "--global-batch", "32", "--degree", "4", "--bandwidth", "400Gbps")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(TINY))
    return str(path)


def planned(topoopt: Topoopt, config: str, *words: str) -> dict[str, Any]:
    ran = topoopt("plan", config, *WORDS, *words, "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_a_plan_says_configuration_placement_memory_and_rates(topoopt: Topoopt, config: str) -> None:
    document = planned(topoopt, config, "--candidates", "3", "--fabrics", "rail,fat-tree")
    training = document["training"]
    chosen = training["layouts"][training["chosen"]]
    assert {"tp", "pp", "dp", "cp", "ep", "vpp", "micro_batch", "zero", "recompute"} <= set(
        chosen["configuration"]
    )
    assert chosen["iteration_time_s"] == min(layout["iteration_time_s"] for layout in training["layouts"])
    assert chosen["memory_bytes"]["parameters"] > 0
    assert document["memory"]["fits"]
    assert 0 < training["mfu"] < 1 < training["tokens_per_s"]
    assert document["lower_bound_s"] <= document["iteration_time_s"]
    assert document["cost_usd"] > 0
    assert document["price"]["prices"] == "2026"
    assert all(len(row["layout_times_s"]) == len(training["layouts"]) for row in document["baselines"])


def test_a_person_reads_the_same(topoopt: Topoopt, config: str) -> None:
    ran = topoopt("plan", config, *WORDS, "--tp", "2", "--pp", "4", "--fabrics", "none")
    assert ran.code == 0
    for word in (
        "tensor 2 with sequence parallelism, pipeline 4",
        "1F1B",
        "MFU",
        "Configurations tried",
        "(tp-cp-ep-pp-dp)",
    ):
        assert word in ran.out


@pytest.mark.parametrize("schedule", ["1f1b", "zero-bubble", "dualpipe"])
def test_every_verb_reads_the_plan(topoopt: Topoopt, config: str, tmp_path: Path, schedule: str) -> None:
    chosen = (
        ("--fabrics", "none")
        if schedule == "1f1b"
        else ("--pp", "4", "--schedule", schedule, "--fabrics", "none")
    )
    (path := tmp_path / "plan.json").write_text(json.dumps(planned(topoopt, config, *chosen)))
    plan = str(path)
    for words in (
        ("simulate", plan, "--simulator", "flow"),
        ("simulate", plan, "--steady-state"),
        ("traffic", plan),
        ("cost", plan),
        ("fail", plan, "--server", "0"),
        ("rewire", plan, plan),
        ("report", plan, "--out", str(tmp_path / "page.html")),
    ):
        ran = topoopt(*words)
        assert ran.code == 0, (words, ran.err)
    ran = topoopt("compare", plan, "--fabrics", "torus", "--json")
    rows = json.loads(ran.out)["fabrics"]
    assert [row["fabric"] for row in rows] == ["topoopt", "torus"]
    assert all(row["configuration"].startswith("tp") for row in rows)
    assert set(rows[1]["configuration_times_s"].values()) >= {rows[1]["iteration_time_s"]}


def test_a_simulation_tells_the_bubble_from_computing(topoopt: Topoopt, config: str, tmp_path: Path) -> None:
    (path := tmp_path / "plan.json").write_text(
        json.dumps(planned(topoopt, config, "--tp", "2", "--pp", "4", "--fabrics", "none"))
    )
    words = "simulate", str(path), "--simulator", "flow"
    document = json.loads(topoopt(*words, "--json").out)
    assert 0 < document["bubble_s"] < document["compute_time_s"]
    shown = topoopt(*words).out
    assert "on the busiest accelerator" in shown
    assert "in which it waits for others" in shown


def test_traffic_of_a_transformer_is_that_of_the_best_in_closed_form(topoopt: Topoopt, config: str) -> None:
    ran = topoopt("traffic", config, *WORDS, "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["strategy"].endswith("the best in closed form")


MISTAKES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("plan", "dlrm", "--accelerators", "63"),
        "--accelerators: 63 do not fill servers of 4; give --accelerators-per-server",
    ),
    (
        ("plan", "llama3-70b", "--budget", "5"),
        "--budget: is for searches over operators; for a transformer give",
    ),
    (
        ("plan", "llama3-70b", "--set", "a=1"),
        "--set: is for graphs of operators, and llama3-70b is a transformer",
    ),
    (("plan", "llama3-70b", "--accelerators", "0"), "--accelerators: expected an integer >= 2, got 0"),
    (("plan", "llama3-70b", "--accelerators", "64", "--tp", "3"), "--tp 3"),
    (("plan", "llama3-70b", "--accelerators", "64", "--recompute", "some"), "recompute"),
    (("plan", "llama3-70b", "--calibration", ""), "--calibration: expected a name, got nothing"),
    (("plan", "llama3-70b", "--calibration", "none.toml"), "none.toml: no such file"),
    (("plan", "lama3-70b"), "did you mean llama3-70b"),
    (("compare", "llama3-70b", "--chains", "2"), "--chains: is for searches over operators"),
    (("traffic", "llama3-70b", "--variant", "8"), "--variant: is for graphs of operators"),
)


@pytest.mark.parametrize(
    ("words", "said"), MISTAKES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_mistakes(topoopt: Topoopt, words: tuple[str, ...], said: str) -> None:
    ran = topoopt(*words)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_a_config_of_a_family_that_nobody_knows_is_one_line(topoopt: Topoopt, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**TINY, "model_type": "rwkv"}))
    ran = topoopt("plan", str(path), *WORDS)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert "rwkv" in ran.err
