"""``topoopt choose`` on the command line: the page, JSON, files, and mistakes in one line."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import topoopt as door
from tests.frontends.cli.conftest import Topoopt, instead
from tests.studies.sweep.conftest import here
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.frontends.cli import main

JOBS = ("vgg16:3", "dlrm:1")
SMALL = (
    *("choose", *JOBS, "--servers", "4", "--degrees", "2", "--bandwidths", "100Gbps,400Gbps"),
    *("--fabrics", "topoopt,rail", "--proposals", "20"),
)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an answer, whose plans every other question finds; this process plans for all of the file."""
    folder = tmp_path_factory.mktemp("chosen") / "bought"
    with pytest.MonkeyPatch.context() as patch:
        verb = import_module("topoopt.frontends.verbs.sweep")
        patch.setattr(verb, "kept_processes", lambda count: nullcontext(here))
        assert main([*SMALL, "--json", "--out", str(folder)]) == 0
        yield folder


@pytest.fixture(autouse=True)
def bought(plans: Path, topoopt: Topoopt, tmp_path: Path) -> None:
    """Its copy in the working directory of a test."""
    copytree(plans, tmp_path / "bought")


def test_the_page_names_a_network_and_what_would_change_that(topoopt: Topoopt) -> None:
    ran = topoopt(*SMALL, "--out", "bought", "--report", "page.html")
    kept = topoopt("report", "bought", "--json")
    assert json.loads(kept.out)["key_numbers"]["choice_network_usd"] > 0, kept.err
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(Path("bought/choice.json").read_text())
    taken = document["choice"]["network"]
    (line,) = [line for line in ran.out.splitlines() if line.startswith(" →")]
    assert taken in line
    assert "What would change it" in ran.out
    assert "Written: bought, page.html" in ran.out
    page = Path("page.html").read_text()
    assert f"Buy {taken}: the network costs" in page
    assert sorted(path.name for path in Path("bought").iterdir() if path.suffix != ".parquet") == [
        "choice.json",
        "networks.csv",
        "plans.duckdb",
    ]


def test_both_doors_give_one_answer(topoopt: Topoopt) -> None:
    ran = topoopt(*SMALL, "--out", "bought", "--json")
    found = door.choose(
        JOBS,
        servers=4,
        degrees=[2],
        bandwidths=["100Gbps", 400e9],
        fabrics=["topoopt", "rail"],
        proposals=20,
        out="bought",
    )
    assert json.loads(ran.out) == json.loads(json.dumps(found.to_json()))
    assert "vgg16 75%, dlrm 25%" in str(found)


def test_keys_of_json_end_in_their_unit(topoopt: Topoopt) -> None:
    document = json.loads(topoopt(*SMALL, "--out", "bought", "--json").out)
    row = document["choice"]
    parts = ("network", "servers", "electricity", "interest", "colocation", "maintenance")
    assert row["total_usd"] == pytest.approx(sum(row[f"{name}_usd"] for name in parts))
    assert row["staff_usd"] is row["storage_usd"] is None
    assert row["usd_per_year_of_work"] == pytest.approx(row["total_usd"] / 5 * row["relative_time"])
    assert len(document["networks"]) == 4
    assert document["planned"] + document["dropped"] + document["left_out"] == 4
    job = document["jobs"][0]
    hours = job["usd_per_sample"] * job["samples"] / job["usd_per_hour"]
    assert hours * 3600 == pytest.approx(job["iteration_time_s"])


def test_a_deadline_is_of_the_work_of_a_year_and_of_a_run(topoopt: Topoopt) -> None:
    document = json.loads(topoopt(*SMALL, "--out", "bought", "--deadline", "17520h", "--json").out)
    assert document["deadline_years"] == pytest.approx(2.0)
    alone = ("choose", "vgg16", *SMALL[3:])
    flags = ("--out", "bought", "--run-hours", "100", "--deadline", "150h", "--json")
    run = json.loads(topoopt(*alone, *flags).out)
    assert run["deadline_years"] == pytest.approx(1.5)
    assert run["jobs"][0]["run_hours"] == pytest.approx(100 * run["choice"]["relative_time"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("choose", "vgg"), "vgg"),
        (
            instead(SMALL, "--fabrics", "fat-tree"),
            "--fabrics: fat-tree has the bandwidth that the price of topoopt buys",
        ),
        (instead(SMALL, "--degrees", "2,x"), "--degrees: expected numbers with commas"),
        (instead(SMALL, "--bandwidths", "fast"), "--bandwidths"),
        ((*SMALL, "--link-technologies", "wet"), "--link-technologies"),
        (
            (*SMALL, "--out", "bought", "--budget-usd", "1"),
            "--budget-usd 1: no network of the grid meets it; the nearest, ",
        ),
        ((*SMALL, "--budget-usd", "9e9", "--deadline", "1h"), "--deadline: a budget is given already"),
        ((*SMALL, "--accelerators", "8"), "--accelerators: servers are given, too"),
        ((*SMALL, "--weights", "1"), "--weights: expected 2, one for each job, got 1"),
        ((*SMALL, "--tokens", "1e9"), "are of one job, and there are 2; leave them out"),
        ((*SMALL, "--out", "file"), "--out: file is a file, expected a folder"),
    ],
)
def test_a_mistake_is_one_line(topoopt: Topoopt, words: tuple[str, ...], message: str) -> None:
    Path("file").write_text("")
    ran = topoopt(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_python_door_refuses_misspelled_words() -> None:
    with pytest.raises(InvalidInput, match="did you mean degrees"):
        door.choose("vgg16", degres=[2])  # type: ignore[call-arg]


@pytest.mark.parametrize("job", ["vgg16", "llama3-8b"])
def test_an_iteration_takes_as_long_as_plan_says(job: str) -> None:
    """Found by a user: for a graph of operators it took 8 H100 a server, where ``plan`` takes 4 A100."""
    effort: dict[str, Any] = {"proposals": 5} if job == "vgg16" else {}
    planned: dict[str, Any] = {"budget": 5} if job == "vgg16" else {}
    plan = door.plan(job, servers=2, degree=2, bandwidth="100Gbps", **planned)
    found = door.choose(
        job, servers=2, degrees=[2], bandwidths=["100Gbps"], fabrics=["topoopt"], processes=1, **effort
    )
    cluster = plan.job.cluster
    name = find_accelerator(cluster.accelerator).name
    assert found.machines == f"2 servers of {cluster.accelerators_per_server} × {name}"
    assert found.to_json()["jobs"][0]["iteration_time_s"] == plan.outcome.iteration_time_s
