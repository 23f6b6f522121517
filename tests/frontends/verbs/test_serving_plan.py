"""``topoopt.plan`` of a job that serves a model: what users meet is in the plan, and in its file."""

import json
from pathlib import Path
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import TopoOptError
from topoopt.plans import Plan

JOB = "examples/serving-job.yaml"


@pytest.fixture(scope="module")
def served() -> Plan:
    return topoopt.plan(JOB, degree=2, bandwidth="100Gbps", fabrics=["rail"])


def test_a_plan_of_a_service_says_what_its_users_meet(served: Plan) -> None:
    assert served.served is not None
    assert [row.fabric for row in served.served.fabrics] == ["topoopt", "rail"]
    assert served.fabric.name == "topoopt"
    own = served.served.fabrics[0]
    answer = topoopt.serving(JOB, degree=2, bandwidth="100Gbps", fabrics=["topoopt", "rail"])
    row = answer.row_of("topoopt")
    assert row is not None
    assert own.goodput_per_s == row.evaluated.goodput_per_s
    assert own.ttft_p90_s == answer.fabric_row(row)["ttft_p90_s"]
    page = str(served)
    assert "What users meet" in page or "first token" in page
    assert f"{own.goodput_per_s:.3g} at most" in page


def test_its_file_has_them_again(served: Plan, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    topoopt.write_plan(out, served)
    assert topoopt.read_plan(out).served == served.served
    document = json.loads(out.read_text())
    for row in document["served"]["fabrics"]:
        row["network_usd"] = row.pop("cost_usd")  # as earlier files call it
    out.write_text(json.dumps(document))
    assert topoopt.read_plan(out).served == served.served


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"tp": 4}, "tp: is of a training, but examples/serving-job.yaml serves a model"),
        ({"collective": "ring"}, "collective: is of a training"),
        ({"fabrics": ["sip-ml"]}, 'fabrics: unknown name "sip-ml"'),
        ({"servers": 1}, "all of its accelerators are in one server"),
    ],
)
def test_what_is_not_of_a_service_is_one_line(words: dict[str, Any], message: str) -> None:
    with pytest.raises(TopoOptError) as error:
        topoopt.plan(JOB, **words)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "said", ["{model: llama3-8b, rates: 3}", "{model: 3}", "{}", "{model: llama3-8b, rate: -1}"]
)
def test_a_wrong_file_names_file_and_key(said: str, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(f"serving: {said}")
    with pytest.raises(TopoOptError, match=r"job\.yaml"):
        topoopt.plan(str(job), servers=2)


def test_verbs_of_training_say_who_takes_it() -> None:
    with pytest.raises(TopoOptError, match="is a job that serves a model; topoopt plan and serving take it"):
        topoopt.compare(JOB)
