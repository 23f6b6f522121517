"""A sweep file is every combination of its values, and each mistake in it is one line with its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.published_schemas import published
from tests.studies.sweep.conftest import MakeSweep
from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, networks_of
from topoopt.search import preset
from topoopt.studies.sweep import read_sweep

ROOT = Path(__file__).parents[3]
MANY = list(range(320))
EXAMPLE = ROOT / "examples" / "sweep.yaml"


def test_points_are_all_combinations_in_the_order_of_the_file(sweep: MakeSweep) -> None:
    made = sweep("models: [dlrm, bert]\nservers: [16, 8]\nseeds: [0, 1]\nfabrics: topoopt\n")
    found = [(point.model, point.servers, point.seed) for point in made.points]
    assert found == [(model, n, seed) for model in ("dlrm", "bert") for n in (16, 8) for seed in (0, 1)]
    assert len({point.digest for point in made.points}) == len(made.points)


def test_what_is_not_said_has_its_default(sweep: MakeSweep) -> None:
    (point,) = sweep("models: dlrm\nservers: 16\n").points
    assert (point.degree, point.bandwidth_bps, point.fabric, point.seed) == (4, 100e9, "topoopt", 0)
    assert (point.budget, point.baseline_budget, point.simulator, point.prices) == (
        1000,
        500,
        "analytic",
        "2026",
    )
    assert point.cluster().link_latency_s == 1e-6
    assert point.options().processes == 1


def test_saying_a_default_changes_nothing(sweep: MakeSweep) -> None:
    plain = sweep("models: dlrm\nservers: 16\n").points
    said = sweep("models: dlrm\nservers: 16\nbandwidth: 0.1 Tbps\nprices: 2026\nbudget: 1000\n").points
    assert [point.digest for point in said] == [point.digest for point in plain]


def test_points_of_one_plan_differ_in_what_comes_after_it(sweep: MakeSweep) -> None:
    text = "models: dlrm\nservers: 16\nfabrics: [topoopt, torus]\nsimulator: [analytic, flow]\nprices: [2022, 2025]\n"
    points = sweep(text).points
    assert len({point.plan_digest for point in points}) == 1
    other = replace(points[0], seed=1)
    assert other.plan_digest != points[0].plan_digest
    assert replace(other, seed=0).digest == points[0].digest


def test_a_preset_sets_its_rules_and_a_key_goes_over_it(sweep: MakeSweep) -> None:
    default, released = sweep("models: dlrm\nservers: 16\npreset: [default, released]\n").points
    assert released.mode == "released"
    assert released.embedding_bytes_factor == preset("released")["embedding_bytes_factor"] == 2
    assert (default.strides, released.strides) == ("best", "lower-bound")
    (own,) = sweep("models: dlrm\nservers: 16\npreset: released\nstrides: nearest\n").points
    assert (own.mode, own.strides) == ("released", "nearest")


def test_what_lies_in_an_excluded_box_is_left_out(sweep: MakeSweep) -> None:
    text = "models: [dlrm, bert]\nservers: [8, 16]\ndegree: [2, 4]\nexclude:\n"
    points = sweep(f"{text}  - {{models: bert, servers: [8, 16], degree: 2}}\n  - servers: 8\n").points
    found = {(point.model, point.servers, point.degree) for point in points}
    assert found == {("dlrm", 16, 2), ("dlrm", 16, 4), ("bert", 16, 4)}


def test_an_impossible_combination_may_be_excluded(sweep: MakeSweep) -> None:
    text = "models: dlrm\nservers: [2, 16]\ndegree: [4, 80]\n"
    with pytest.raises(
        InvalidInput, match=r"sweep.yaml: degree: a server has at most 72 interfaces.*exclude: \[{servers: 2"
    ):
        sweep(text)
    assert len(sweep(f"{text}exclude: [{{degree: 80}}]\n").points) == 2


def test_a_model_may_be_a_job_file_beside_the_sweep(sweep: MakeSweep, tmp_path: Path) -> None:
    job = tmp_path / "mine.yaml"
    job.write_text(
        "model: dlrm\nset: {tables: 8}\nprecision: bf16\ncluster: {degree: 2}\nsearch: {budget: 7}\n"
    )
    text = "models: [dlrm, mine.yaml]\nservers: 8\n"
    zoo, mine = sweep(text).points
    assert (zoo.precision, zoo.degree, zoo.budget, zoo.inputs) == ("fp32", 4, 1000, "")
    assert (mine.precision, mine.degree, mine.budget) == ("bf16", 2, 7)
    assert mine.inputs.startswith("mine.yaml=sha256:")
    job.write_text("model: dlrm\nset: {tables: 9}\n")
    assert sweep(text).points[1].digest != mine.digest, "a changed file makes other points"
    assert sweep(f"{text}degree: 3\n").points[1].degree == 3, "the sweep file goes over the job file"


def test_a_price_list_of_ones_own_is_part_of_the_point(sweep: MakeSweep, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("item,bandwidth_gbps,usd\nnic,100,1\n")
    text = "models: dlrm\nservers: 16\nprices: [2022, own.csv]\n"
    first = sweep(text).points[1]
    own.write_text("item,bandwidth_gbps,usd\nnic,100,2\n")
    assert sweep(text).points[1].digest != first.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: dlrm\n", 'missing key "servers": expected an integer >= 2'),
        ("servers: 4\n", 'missing key "models": expected text'),
        ("models: dlrm\nservrs: 16\n", 'unknown key "servrs"; did you mean servers'),
        ("models: dlrm\nservers: []\n", "servers: an axis without values; give one or more"),
        ("models: dlrm\nservers: 16\ndegree:\n", "degree: an axis without values"),
        ("models: dlrm\nservers: [16, 16]\n", "servers: the value 16 stands twice"),
        ("models: dlrm\nservers: 16\nbandwidth: [100 Gbps, 0.1 Tbps]\n", "bandwidth: the value"),
        ("models: dlrm\nservers: [16, many]\n", r'servers\[1\]: expected an integer >= 2, got "many"'),
        ("models: dlrm\nservers: 16\nbandwidth: 100\n", 'bandwidth: missing unit in "100"'),
        ("models: [dlrm, dlmr]\nservers: 16\n", 'models: unknown name "dlmr"; did you mean dlrm'),
        ("models: mine.yaml\nservers: 16\n", "models: .*mine.yaml: no such file"),
        (
            "models: dlrm\nservers: 16\nfabrics: [topoopt, fat-tre]\n",
            r'fabrics\[1\]: .*"fat-tre"; did you mean fat-tree',
        ),
        ("models: dlrm\nservers: 16\nsimulator: packets\n", 'simulator.*"packets"; did you mean packet'),
        ("models: dlrm\nservers: 16\nprices: 2021\n", 'prices: unknown name "2021"; did you mean'),
        (
            "models: dlrm\nservers: 16\naccelerator: a1000\n",
            'accelerator: unknown name "a1000"; .*take the value out',
        ),
        ("models: dlrm\nservers: 16\nseeds: -1\n", r"seeds\[0\]: expected an integer >= 0, got -1"),
        (
            "models: dlrm\nservers: 16\nexclude: [{model: dlrm}]\n",
            r'exclude\[0\]: unknown key "model"; .*models',
        ),
        ("models: dlrm\nservers: 16\nexclude: [{servers: 32}]\n", r"exclude\[0\]: no point of the sweep has"),
        (
            "models: dlrm\nservers: 16\nexclude: [{seeds: 1}]\n",
            r"exclude\[0\]: seeds is no key of this sweep",
        ),
        ("models: dlrm\nservers: 16\nexclude: [{}]\n", r"exclude\[0\]: names nothing"),
        ("models: dlrm\nservers: 16\nexclude: [{servers: 16}]\n", "exclude: nothing is left"),
        (
            f"models: dlrm\nservers: {list(range(2, 319))}\nseeds: {list(range(316))}\n",
            "100,172 points, allowed are 100,000",
        ),
        ("- a\n", "expected a mapping of keys to values"),
        ("models: dlrm\nmodels: bert\nservers: 16\n", 'line 2: key "models" stands twice'),
    ],
)
def test_a_mistake_is_one_line_with_its_place(sweep: MakeSweep, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"sweep.yaml: .*{message}") as caught:
        sweep(text)
    assert "\n" not in str(caught.value)


def test_every_fabric_of_a_comparison_has_a_name_here() -> None:
    rules = list(NETWORKS.sizings().values())
    assert rules == [
        rule for name in networks_of("plan") for rule in NETWORKS[name].sizings if name != "direct"
    ]


def test_the_example_follows_the_schema_and_is_a_sweep() -> None:
    document: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    schema = published("sweep")
    jsonschema.validate(document, schema)
    assert len(read_sweep(EXAMPLE).points) == 21
    changes: list[dict[str, Any]] = [{"servers": "many"}, {"color": "red"}, {"seeds": [1, 1]}, {"degree": []}]
    for change in changes:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, **change}, schema)
