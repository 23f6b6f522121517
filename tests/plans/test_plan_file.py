"""Plan files: what is read is what was written, and whatever else is in a file is refused in one line."""

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.jobs.training_jobs import small_training_job
from tests.published_schemas import SCHEMAS
from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.catalog import NETWORKS, ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job, traffic_job, transformer_of
from topoopt.plans import Plan, plan_from_mapping, plan_to_mapping, read_plan, write_plan
from topoopt.search import SearchOptions, make_plan, simulated
from topoopt.workloads import Measurement, Operator, OperatorGraph, ProfileTable, Weight, load_model
from topoopt.workloads.traffic import traffic_from_matrix

OPTIONS = SearchOptions(budget=60, baseline_budget=10)


def zoo(model: str, servers: int, degree: int = 4, **settings: Any) -> Job:
    graph = load_model(model, servers=16)
    return make_job(graph, ClusterSpec(servers, degree, 100e9), JobSettings(**settings))


def measured() -> Job:
    """A layer that the user measured, on links that differ each way."""
    op = Operator(
        "wide", "dense", (), (Weight("w", 10**7),), 4096, 1e7, 8192.0, frozenset({"batch", "out"}), "Wide"
    )
    graph = OperatorGraph("mine", (op,), 16)
    rows = {"Wide": (Measurement(64.0, 1e-3, 2e-3, 10**6), Measurement(128.0, 2e-3, 4e-3, 10**6))}
    cluster = ClusterSpec(5, 3, 40e9, accelerators_per_server=2, links="directed")
    return make_job(graph, cluster, JobSettings(), (ProfileTable("mine", 5, 160, rows),))


def imported() -> Job:
    """An operator with times of its own, in buckets."""
    first = Operator("a", "dense", (), (Weight("w", 10**7),), 4096, forward_time_s=1e-3, timed_samples=64)
    second = Operator("b", "mine", (0,), (), 128, forward_time_s=1e-4, backward_time_s=0.0, timed_samples=1)
    graph = OperatorGraph("times", (first, second), 16)
    settings = JobSettings(bucket_bytes=10**6, memory_check="enforce", optimizer="adam")
    return make_job(graph, ClusterSpec(4, 2, 100e9, accelerator="h100"), settings)


def matrix() -> Job:
    demand = np.zeros((7, 7))
    demand[0, 3], demand[1, 4], demand[2, 0], demand[5, 6] = 1e7, 2e7, 3e7, 1
    return traffic_job("shuffle", traffic_from_matrix(demand), ClusterSpec(7, 3, 100e9))


JOBS: dict[str, Callable[[], Job]] = {
    "tables and layers": lambda: zoo("dlrm", 8, 3),
    "large model": lambda: zoo("candle", 6, embedding_bytes_factor=2, memory_check="off"),
    "roofline": lambda: zoo("bert", 4, compute="roofline", precision="bf16"),
    "measured": measured,
    "imported": imported,
    "traffic matrix": matrix,
    "transformer": small_training_job,
}


@cache
def plan_of(name: str) -> Plan:
    return make_plan(JOBS[name](), OPTIONS, fabrics=("ideal-switch",), inputs={"x": "sha256:0"})


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document of a small plan with two kinds of groups; change a copy only."""
    found: dict[str, Any] = json.loads(json.dumps(plan_to_mapping(plan_of("tables and layers"))))
    return found


@pytest.mark.parametrize("name", JOBS)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    plan, path = plan_of(name), tmp_path / "plan.json"
    write_plan(path, plan)
    read = read_plan(path)
    assert plan_to_mapping(read) == plan_to_mapping(plan) == json.loads(path.read_text())
    assert read.strategy == plan.strategy
    assert (type(read.job.work), read.job.name) == (type(plan.job.work), plan.job.name)
    assert read.job.cluster == plan.job.cluster
    assert read.job.settings == plan.job.settings
    assert read.fabric.rings == plan.fabric.rings
    assert (read.bounds, read.routing_gap, read.outcome) == (plan.bounds, plan.routing_gap, plan.outcome)
    assert read.provenance == plan.provenance
    assert read.gap_parts == plan.gap_parts is not None
    assert (read.gap, read.strides, read.rules) == (plan.gap, plan.strides, plan.rules)
    assert [row.rule for row in read.baselines] == [row.rule for row in plan.baselines]
    assert {row.rule for row in plan.baselines} <= set(NETWORKS.sizings())


@pytest.mark.parametrize("simulator", ["analytic", "flow"])
@pytest.mark.parametrize("name", JOBS)
def test_a_plan_that_was_read_takes_as_long(name: str, simulator: str) -> None:
    plan = plan_of(name)
    read = plan_from_mapping(json.loads(json.dumps(plan_to_mapping(plan))))
    first, again = (simulated(p.job, p.strategy, p.fabric, simulator) for p in (plan, read))
    assert again.iteration_time_s == first.iteration_time_s
    np.testing.assert_array_equal(again.link_bytes, first.link_bytes)
    if simulator == "analytic":
        assert first.iteration_time_s == plan.outcome.iteration_time_s


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS["plan"]())


@pytest.mark.parametrize("name", JOBS)
def test_documents_follow_the_schema(name: str) -> None:
    validator().validate(json.loads(json.dumps(plan_to_mapping(plan_of(name)))))


def test_the_schema_is_a_schema_and_refuses_other_documents(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS["plan"]())
    for change in ({"servers": "many"}, {"color": "red"}, {"schema": "topoopt-plan/0"}):
        with pytest.raises(jsonschema.ValidationError):
            validator().validate({**document, **change})


def changed(document: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a copy with the value at a dotted place changed; ``...`` removes it."""
    copied = copy.deepcopy(document)
    here: Any = copied
    *steps, last = place.split(".")
    for step in steps:
        here = here[_key(here, step)]
    if value is ...:
        del here[_key(here, last)]
    else:
        here[_key(here, last)] = value
    return copied


def _key(of: Any, step: str) -> Any:
    return int(step) if isinstance(of, list) else step


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("schema", "topoopt-plan/9", "expected a plan file with schema topoopt-plan/1, got topoopt-plan/9"),
        ("schema", ..., "got no schema"),
        ("colour", "red", 'unknown key "colour"'),
        ("topology.colour", "red", 'topology: unknown key "colour"'),
        ("graph.operators.0.colour", "red", 'graph.operators[0]: unknown key "colour"'),
        ("routes", ..., 'missing key "routes"'),
        ("servers", "many", 'servers: expected an integer, got "many"'),
        ("servers", 9, "servers: 9 here, 8 elsewhere"),
        ("topology.servers", 9, "topology: servers: 9 here, 8 elsewhere"),
        ("model", "vgg", "model: vgg here"),
        ("cost_usd", 1.5, "cost_usd: 1.5 here"),
        ("cluster.degree", 0, "degree"),
        ("cluster.accelerator", "abacus", "abacus"),
        ("settings.optimizer", "lion", "lion"),
        ("iteration_time_s", 0, "iteration_time_s: expected a number > 0, got 0"),
        ("iteration_time_s", float("inf"), "iteration_time_s: expected"),
        ("strategy", [], "strategy: expected a row for each of"),
        ("strategy.-1", ..., "strategy: expected a row for each of"),
        ("strategy.0.channel_dim", "up", "strategy[0].channel_dim"),
        ("strategy.0.batch_degree", 5, "do not fit 8 servers evenly"),
        ("baselines.0.strategy", [], "strategy: expected a row for each of"),
        ("rings.0.members.0", 99, "rings[0]: nodes must be in 0..7"),
        ("rings.0.group", 99, "rings[0]: group must be in 0.."),
        ("topology.links.src", [], "topology: links: src, dst and ports must be of one length"),
        (
            "topology.links.ports.0",
            2**31,
            "ports[0]: expected an integer >= 1 and <= 2147483647, got 2147483648",
        ),
        ("topology.links.latency_s", [1e-6], "topology: links: latency_s: expected"),
        ("topology.links.dst.0", 8, "topology: links: nodes must be in 0..7"),
        ("topology.links.dst.0", 0, "topology: links: must be in order"),
        ("topology.links.bandwidth_bps", -1, "topology.links.bandwidth_bps"),
        ("topology.offsets", [2, 3], "topology: offsets: every server must have a link along each"),
        ("routes.method", "carrier-pigeon", "routes: "),
        ("graph.operators.0.output_bytes_per_sample", -1, "graph.operators[0].output_bytes_per_sample"),
        ("graph.operators.0.forward_time_s", 1.0, "forward_time_s needs timed_samples"),
        ("graph.operators.0.splits", ["sideways"], "graph.operators[0].splits[0]"),
        ("graph.operators", [], "graph: no operators"),
        ("price.bill", [{"part": "nic"}], "price.bill[0]"),
        ("price.prise", 1, 'price: unknown key "prise"'),
        ("fixed_traffic", [[0, 8, 5]], "fixed_traffic[0]: servers are 0..7"),
        ("fixed_traffic", [[0, 1, -5]], "fixed_traffic[0][2]: expected an integer >= 0"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(
    place: str, value: Any, said: str, document: dict[str, Any]
) -> None:
    if place == "topology.offsets":
        assert document["topology"]["offsets"] != value
    with pytest.raises(InvalidInput) as caught:
        plan_from_mapping(changed(document, place, value), "p.json")
    message = str(caught.value)
    assert message.startswith("p.json: ")
    assert said in message
    assert "\n" not in message


def test_a_ring_over_a_link_that_is_not_there(document: dict[str, Any]) -> None:
    members = document["rings"][0]["members"]
    everyone = set(range(8))
    linked = set(zip(*(document["topology"]["links"][end] for end in ("src", "dst")), strict=True))
    order = next(
        [members[0], other, *sorted(everyone - {members[0], other})]
        for other in everyone - {members[0]}
        if (members[0], other) not in linked
    )
    broken = changed(document, "rings.0", {**document["rings"][0], "members": order, "walk": None})
    with pytest.raises(InvalidInput, match=r"^p: rings\[0\]: no link \d->\d in the topology$"):
        plan_from_mapping(broken, "p")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: "),
        ("hello", "line 1: not"),
        ("[1, 2]", "expected a mapping"),
        ("null", "expected a mapping"),
        ("{}", "got no schema"),
        ("\x00", "not a text file"),
    ],
)
def test_what_is_no_plan_file(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_cut_short_anywhere_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    whole = json.dumps(document, indent=1)
    path = tmp_path / "p.json"
    for length in range(0, len(whole), len(whole) // 40):
        path.write_text(whole[:length])
        with pytest.raises(InvalidInput) as caught:
            read_plan(path)
        assert "\n" not in str(caught.value)


def test_a_plan_that_was_made_before_gaps_had_parts_is_read(document: dict[str, Any]) -> None:
    older = copy.deepcopy(document)
    del older["gap_parts"], older["bounds"]["critical_path_s"]
    plan = plan_from_mapping(older)
    assert plan.gap_parts is None
    assert plan.bounds.critical_path_s == 0
    assert plan_to_mapping(plan)["gap_parts"] is None


def test_a_plan_that_is_missing_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InvalidInput, match=path.name):
            read_plan(path)


def test_a_plan_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        write_plan(tmp_path / "none" / "plan.json", plan_of("measured"))
    assert list(tmp_path.iterdir()) == []


def places(value: Any, place: str = "") -> list[str]:
    """Return the dotted places of all values; of long lists the first, middle and last."""
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [found for key, part in _some(list(rows)) for found in places(part, f"{place}.{key}")]
    return [place.lstrip("."), *inner] if place else inner


def _some(rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    whole = len(rows) <= 3 or isinstance(rows[0][0], str)
    return rows if whole else [rows[0], rows[len(rows) // 2], rows[-1]]


def refusal(document: dict[str, Any]) -> str:
    """Return what is said about a document, nothing if it is a plan that can be simulated and written."""
    try:
        plan = plan_from_mapping(document)
        plan_to_mapping(plan)
        simulated(plan.job, plan.strategy, plan.fabric)
    except TopoOptError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["imported", "traffic matrix", "measured"])
def test_no_change_of_a_file_brings_the_program_down(name: str) -> None:
    """Every value replaced in turn: a plan that simulates comes out, or one line."""
    found: dict[str, Any] = json.loads(json.dumps(plan_to_mapping(plan_of(name))))
    values: tuple[Any, ...] = (-1, 0, 10**6, 2.5, "x", None, [], {}, ...)
    rng, refused, taken = np.random.default_rng(0), 0, 0
    for place in places(found):
        value = values[rng.integers(len(values))]
        message = refusal(changed(found, place, value))
        assert "\n" not in message
        refused += bool(message)
        taken += not message
    assert refused > taken > 0


def test_equal_buckets_of_older_plans_are_read_as_an_overlap() -> None:
    older = json.loads(json.dumps(plan_to_mapping(plan_of("transformer"))))
    for layout in older["training"]["layouts"]:
        layout["step"]["gradient_buckets"] = 4
        for one in layout["step"]["synchronizations"]:
            del one["overlap"]
    work = transformer_of(plan_from_mapping(older).job)
    read = [one for layout in work.layouts for one in layout.step.synchronizations]
    assert read
    assert {one.overlap for one in read} == {0.75}
