"""What a command prints as JSON is what the verb of its name answers in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json

TIMES = {"cpu_s", "proposals_per_s", "peak_memory_bytes"}
"""Figures of the run itself, which no two runs share."""
SWEEP = "models: vgg16\nservers: 4\ndegree: 2\nbudget: 10\nfabrics: [topoopt, torus]\n"
TRACE = {"generate": True, "jobs": 2, "at_once": True, "servers": 32, "degree": 4, "mix": "vgg16=1"}

EXAMPLES = Path(__file__).parents[3] / "examples"
DOORS: dict[str, tuple[str, Callable[[], Any]]] = {
    "compare": (
        "compare plan.json --fabrics torus,fat-tree --baseline-budget 10 --simulator flow",
        lambda: topoopt.compare(
            "plan.json", fabrics=["torus", "fat-tree"], baseline_budget=10, simulator="flow"
        ),
    ),
    "fail a link": (
        "fail plan.json --link 0-1 --at 3h --without spare",
        lambda: topoopt.fail("plan.json", link="0-1", at="3h", without=["spare"]),
    ),
    "fail for a month": (
        "fail plan.json --availability --runs 20 --days 3 --seed 5",
        lambda: topoopt.fail("plan.json", availability=True, runs=20, days=3, seed=5),
    ),
    "collective": (
        "collective --op all-gather --bytes 4MB --servers 16 --strides 3,4 --alpha 2us",
        lambda: topoopt.collective("all-gather", bytes=4e6, servers=16, strides=(3, 4), alpha=2e-6),
    ),
    "phases": (
        "phases plan.json --simulator analytic --link all --tolerance 0.1",
        lambda: topoopt.phases("plan.json", simulator="analytic", link="all", tolerance=0.1),
    ),
    "rewire": (
        "rewire plan.json other.json --no-relabel",
        lambda: topoopt.rewire("plan.json", "other.json", relabel=False),
    ),
    "rewire in a room": (
        "rewire plan.json other.json --no-relabel --inventory room.yaml",
        lambda: topoopt.rewire("plan.json", "other.json", relabel=False, inventory="room.yaml"),
    ),
    "export": (
        "export plan.json --format patch-list,polatis --inventory room.yaml --present other.json --keep-running "
        "--out exported",
        lambda: topoopt.export(
            "plan.json",
            format=["patch-list", "polatis"],
            inventory="room.yaml",
            present="other.json",
            keep_running=True,
            out="exported",
        ),
    ),
    "export formats": ("export --list", topoopt.export_formats),
    "mltcp simulate": (
        "mltcp simulate --communication 0.4,0.3 --offset 0.1 --ways mltcp,cassini --slope 4 --iterations 5",
        lambda: topoopt.mltcp.simulate(
            communication=[0.4, 0.3], offset=0.1, ways=["mltcp", "cassini"], slope=4, iterations=5
        ),
    ),
    "cluster run": (
        "cluster run --generate --jobs 2 --at-once --servers 32 --degree 4 --mix vgg16=1 --mean-duration 1s "
        "--fabric topoopt",
        lambda: topoopt.cluster.run(**TRACE, mean_duration=1.0, fabrics=["topoopt"]),  # type: ignore[arg-type]
    ),
    "cluster run with schedulers": (
        "cluster run --generate --trace-preset snapshot-1 --scheduler themis,proximity+mltcp --cassini",
        lambda: topoopt.cluster.run(
            generate=True, trace_preset="snapshot-1", scheduler=["themis", "proximity+mltcp"], cassini=True
        ),
    ),
    "sweep before it runs": ("sweep s.yaml --dry-run", lambda: topoopt.sweep("s.yaml", dry_run=True)),
    "sweep again": ("sweep s.yaml --processes 1", lambda: topoopt.sweep("s.yaml", processes=1)),
    "results": (
        "results s.duckdb --columns fabric,greatest(gap,0) --where gap>=0",
        lambda: topoopt.results("s.duckdb", columns=["fabric", "greatest(gap,0)"], where="gap>=0"),
    ),
    "results, the best": (
        "results s.duckdb --best fastest --per model,servers",
        lambda: topoopt.results("s.duckdb", best="fastest", per="model,servers"),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two plans and a sweep that has been run."""
    place = tmp_path_factory.mktemp("doors")
    for name, batch in (("plan", 512), ("other", 64)):
        plan = topoopt.plan(
            "dlrm", servers=8, degree=4, batch_per_accelerator=batch, fabrics=(), budget=20, seed=batch
        )
        topoopt.write_plan(place / f"{name}.json", plan)
    (place / "s.yaml").write_text(SWEEP)
    (place / "room.yaml").write_bytes((EXAMPLES / "room.yaml").read_bytes())
    topoopt.sweep(place / "s.yaml", processes=1)
    return place


@pytest.mark.parametrize("name", DOORS)
def test_both_doors_answer_the_same(
    printed: Printed, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    command, verb = DOORS[name]
    assert steady(printed(*command.split())) == steady(as_json(verb().to_json()))


def test_a_reproduced_figure_is_that_of_the_library(
    printed: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [figure] = printed("reproduce", "table1", "--quick", "--pictures", "none")["figures"]
    assert figure.pop("files") == ["reproduction/table1.csv"]
    assert figure == as_json(topoopt.reproduce("table1", quick=True).to_json())


def steady(document: Any) -> Any:
    """Return a document without figures of the run itself."""
    if isinstance(document, dict):
        return {key: steady(value) for key, value in document.items() if key not in TIMES}
    return [steady(value) for value in document] if isinstance(document, list) else document
