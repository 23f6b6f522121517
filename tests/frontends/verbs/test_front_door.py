"""``import topoopt`` is quick, and hands on the verbs and nouns by the names of the command line."""

import importlib
import inspect
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json
from topoopt.base.errors import InvalidInput
from topoopt.plans import Plan, plan_to_mapping
from topoopt.workloads.transformer import find_transformer

HEAVY = ("numpy", "numba", "scipy", "pydantic", "rich", "typer", "matplotlib")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return topoopt.plan("dlrm", servers=8, degree=2, bandwidth="100Gbps", fabrics=(), budget=40)


def test_the_door_opens_without_anything_heavy() -> None:
    probe = "import sys, json, topoopt; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize("name", topoopt.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(topoopt, name) is not None


def test_a_verb_stays_a_verb_when_the_room_of_its_name_is_imported() -> None:
    assert importlib.import_module("topoopt.plans").Plan is Plan
    assert callable(topoopt.plan)


def test_a_misspelled_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="plna"):
        topoopt.plna  # type: ignore[attr-defined]  # noqa: B018


def test_words_are_the_flags_of_the_command(plan: Plan, printed: Printed) -> None:
    command = [
        *("plan", "dlrm", "--servers", "8", "--degree", "2", "--bandwidth", "100Gbps"),
        *("--fabrics", "none", "--budget", "40"),
    ]
    shown, own = printed(*command), as_json(plan_to_mapping(plan))
    for document in (shown, own):
        del document["proposals_per_s"], document["search"]["cpu_s"]
    assert shown == own


def test_amounts_are_text_or_si() -> None:
    number = topoopt.plan("dlrm", servers=8, degree=2, bandwidth=200e9, fabrics=(), budget=0)
    text = topoopt.plan("dlrm", servers=8, degree=2, bandwidth="200Gbps", fabrics=(), budget=0)
    assert number.outcome == text.outcome


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"sevrers": 8}, 'word: unknown name "sevrers"; did you mean servers'),
        ({"bandwidth": "fast"}, "bandwidth: "),
        ({"tp": 2}, "tp: is for transformers in pipeline stages"),
        ({"variant": ""}, "variant: expected a name, got nothing"),
    ],
)
def test_a_mistake_is_one_sentence_about_the_word(words: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        topoopt.plan("dlrm", **words)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_plan_is_a_table_a_mapping_and_a_chart(plan: Plan) -> None:
    assert plan.to_frame()["fabric"][0] == "topoopt"
    assert plan.to_frame()["iteration_time_s"][0] == plan.iteration_time_s
    assert plan.to_dict() == plan.to_json()  # type: ignore[attr-defined]
    assert plan.plot().get_figure() is not None  # type: ignore[attr-defined]
    own = Figure().add_subplot()
    assert plan.plot("Price", axes=own) is own  # type: ignore[attr-defined]
    assert own.get_xlabel()
    with pytest.raises(InvalidInput, match='chart: unknown name "nothing"; '):
        plan.plot("nothing")  # type: ignore[attr-defined]


def test_shells_see_each_word_and_only_verbs_and_nouns() -> None:
    words = inspect.signature(topoopt.plan).parameters
    assert words["servers"].annotation == int | None
    assert inspect.signature(topoopt.studio).parameters["degree"].default == 8
    assert {"plan", "Plan", "InvalidInput", "read_plan"} <= set(dir(topoopt))
    assert not {"page_of", "figure_page", "plan_to_mapping", "FORMATS"} & set(dir(topoopt))


def test_a_plan_shows_itself(plan: Plan) -> None:
    text = str(plan)
    assert repr(plan).split("\n")[:14] == text.split("\n")[:14]
    assert len(repr(plan).split("\n")) <= 15
    assert text.startswith("dlrm")
    assert "Iteration time" in text
    page = plan._repr_html_()  # type: ignore[attr-defined]
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "Iteration time" in page


def test_a_graph_of_operators_is_described_in_python() -> None:
    table = topoopt.Operator("table", "embedding", (), (topoopt.Weight("rows", 4096),), 64)
    dense = topoopt.Operator("dense", "dense", (0,), (topoopt.Weight("kernel", 4096),), 64)
    graph = topoopt.OperatorGraph("mine", (table, dense), 8)
    plan = topoopt.plan(graph, servers=8, degree=2, bandwidth="100Gbps", fabrics=(), budget=20)
    assert plan.job.name == "mine"
    assert plan.job.global_batch == 8 * 8 * 4
    assert len(plan.strategy.splits) == 2
    assert list(plan.provenance.inputs) == ["mine"]


def test_traffic_is_described_in_python() -> None:
    matrix = np.zeros((6, 6))
    matrix[0, 3], matrix[4, 1] = 1e6, 2e6
    plan = topoopt.plan(topoopt.traffic_from_matrix(matrix), degree=2, fabrics=())
    assert plan.job.cluster.servers == 6
    assert plan.traffic().mp_bytes == 3_000_000
    with pytest.raises(InvalidInput, match="precision: the traffic holds bytes"):
        topoopt.plan(topoopt.traffic_from_matrix(matrix), precision="bf16")


def test_a_transformer_is_described_in_python() -> None:
    known = find_transformer("llama3-8b")
    words = {"accelerators": 64, "candidates": 1, "fabrics": ()}
    own = topoopt.plan(replace(known, name="my-llama"), **words)  # type: ignore[arg-type]
    named = topoopt.plan("llama3-8b", **words)  # type: ignore[arg-type]
    assert own.job.name == "my-llama"
    assert own.outcome == named.outcome
