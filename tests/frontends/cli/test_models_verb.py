"""``topoopt models`` lists transformers beside the other models, and shows one with its parameters by cause."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.workloads.transformer import TRANSFORMERS

CONFIGS = Path(__file__).parents[2] / "workloads" / "transformer" / "configs"


def test_all_transformers_are_listed(topoopt: Topoopt) -> None:
    rows = json.loads(topoopt("models", "--json").out)["transformers"]
    assert [row["transformer"] for row in rows] == list(TRANSFORMERS)
    listed = {row["transformer"]: row for row in rows}
    assert listed["llama2-7b"]["parameters"] == 6_738_415_616
    assert listed["deepseek-v3"]["parameters"] == 671_026_419_200
    assert listed["mixtral-8x7b"]["experts"]["count"] == 8
    assert all(sum(row["parameters_by_cause"].values()) == row["parameters"] for row in rows)
    (line,) = (line for line in topoopt("models").out.splitlines() if line.startswith(" mixtral-8x7b "))
    assert line.split()[1:7] == ["32", "4096", "32", "8", "14336", "4096"]
    assert line.split()[7:] == ["2/8", "46.7", "B", "12.9", "B"]


def test_one_transformer_shows_shapes_and_parameters(topoopt: Topoopt) -> None:
    out = topoopt("models", "LLAMA3_70B").out
    assert "kv heads                 8" in out
    assert "70,553,706,496" in out
    (attention,) = (line for line in out.splitlines() if line.startswith(" attention "))
    assert attention.split() == ["attention", "12,079,595,520", "17.1%"]


def test_a_config_json_is_shown_too(topoopt: Topoopt) -> None:
    ran = topoopt("models", str(CONFIGS / "gpt2.json"), "--json")
    document = json.loads(ran.out)
    assert document["models"] == []
    (row,) = document["transformers"]
    assert (row["transformer"], row["parameters"]) == ("gpt2", 124_439_808)
    assert row["parameters_by_cause"]["positions"] == 1024 * 768


def test_naming_another_model_shows_no_transformers(topoopt: Topoopt) -> None:
    assert json.loads(topoopt("models", "bert-16", "--json").out)["transformers"] == []


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("lama3-70b", "did you mean llama3-70b"),
        ("dlmr", "did you mean dlrm"),
        ("jamba", "seven of eight layers are Mamba"),
        ("nowhere.json", "no such file"),
    ],
)
def test_an_unknown_model_has_a_nearest_one_or_a_reason(topoopt: Topoopt, name: str, complaint: str) -> None:
    ran = topoopt("models", name)
    assert ran.code == 2
    assert complaint in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_the_group_llm_stands_behind_traffic(topoopt: Topoopt) -> None:
    out = topoopt("--help").out
    assert out.index("│ traffic ") < out.index("│ llm ") < out.index("│ serving ")
    assert "Usage: topoopt llm" in topoopt("llm", "--help").out
