"""``topoopt sweep`` and ``topoopt results``: what they print, write and refuse."""

import csv
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from shutil import copy

import pytest

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.studies.sweep.conftest import here, pretending
from topoopt.studies.sweep import Crew, read_sweep, run_sweep

SWEEP = (EXAMPLES / "sweep.yaml").read_text()


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Callable[[Crew], None]:
    """Return a function that lets a crew of this process compute."""
    return lambda chosen: monkeypatch.setattr(
        import_module("topoopt.frontends.verbs.sweep"), "processes_here", lambda count: chosen
    )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a sweep, whose figures are made up."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.yaml").write_text(SWEEP)
    run_sweep(read_sweep(folder / "sweep.yaml"), folder / "sweep.duckdb", pretending()[0])
    return folder / "sweep.duckdb"


@pytest.fixture
def made(topoopt: Topoopt, tmp_path: Path, crew: Callable[[Crew], None], rows: Path) -> Topoopt:
    """Return the command in a folder with a sweep that has been run."""
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    copy(rows, tmp_path)
    crew(pretending()[0])
    return topoopt


def test_the_results_of_a_sweep_become_a_page(made: Topoopt, tmp_path: Path) -> None:
    assert made("sweep", "sweep.yaml", "--report", "page.html").code == 0
    ran = made("report", "sweep.duckdb", "--json")
    assert ran.code == 0, ran.err
    assert (tmp_path / "page.html").read_text() == (tmp_path / "report.html").read_text()
    said = json.loads(ran.out)
    charts = [chart["title"] for chart in said["charts"]]
    for model in ("dlrm", "vgg16"):
        assert f"{model}: iteration time over servers" in charts
        assert f"{model}: price against iteration time" in charts


def test_a_real_sweep_from_file_to_rows(
    topoopt: Topoopt, tmp_path: Path, crew: Callable[[Crew], None]
) -> None:
    (tmp_path / "s.yaml").write_text(
        "models: vgg16\nservers: 4\ndegree: 2\nbudget: 10\nfabrics: [topoopt, torus]\n"
    )
    crew(here)
    ran = topoopt("sweep", "s.yaml", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) | {"ok": 2, "computed": 2, "failed": 0, "out": "s.duckdb"} == json.loads(
        ran.out
    )
    rows = json.loads(
        topoopt("results", "s.duckdb", "--json", "--columns", "fabric,iteration_time_s,gap").out
    )["rows"]
    assert [row["fabric"] for row in rows] == ["topoopt", "torus"]
    assert rows[0]["gap"] >= 0
    assert rows[1]["gap"] is None


def test_a_dry_run_writes_nothing(topoopt: Topoopt, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    ran = topoopt("sweep", "sweep.yaml", "--dry-run", "--json")
    assert json.loads(ran.out) | {"points": 21, "finished": 0, "to_compute": 21} == json.loads(ran.out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.yaml"]


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(
    topoopt: Topoopt, tmp_path: Path, crew: Callable[[Crew], None]
) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    crew(pretending(most=4)[0])
    ran = topoopt("sweep", "sweep.yaml")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "interrupted: 4 of 21 points are in sweep.duckdb; the same command goes on\n"
    crew(pretending()[0])
    assert "computed  17: 17 with a result" in topoopt("sweep", "sweep.yaml").out


def test_points_that_broke_are_an_exit_code(
    topoopt: Topoopt, tmp_path: Path, crew: Callable[[Crew], None]
) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    crew(pretending("failed", error="no memory")[0])
    ran = topoopt("sweep", "sweep.yaml")
    assert ran.code == 1
    assert "tried again by the same command" in ran.out
    assert "21 points: no memory" in topoopt("results", "sweep.duckdb").out


def test_results_show_what_differs(made: Topoopt) -> None:
    ran = made("results", "sweep.duckdb")
    assert ran.code == 0
    assert "21 points of sweep.yaml" in ran.out
    assert "bandwidth_bps  25 Gb/s, 100 Gb/s" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 110


def test_rows_go_to_a_file(made: Topoopt, tmp_path: Path) -> None:
    assert (
        made("results", "sweep.duckdb", "--out", "rows.csv", "--columns", "model,iteration_time_s").code == 0
    )
    with (tmp_path / "rows.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 21
    assert float(rows[0]["iteration_time_s"]) == 8 / 25


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_points_are_drawn(made: Topoopt, tmp_path: Path, suffix: str) -> None:
    figure = f"times.{suffix}"
    ran = made("results", "sweep.duckdb", "--plot", "bandwidth_bps", "--by", "model", "--figure", figure)
    assert (ran.code, ran.out) == (0, f"written: {figure}\n")
    text = (tmp_path / figure).read_text()
    assert "vgg16" in text
    assert ("Gb/s" if suffix == "svg" else '"unit":"b/s"') in text.replace('": "', '":"')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "none.yaml"], "none.yaml: no such file"),
        (["sweep", "sweep.yaml", "--processes", "-1"], "--processes: expected an integer >= 0, got -1"),
        (["sweep", "sweep.yaml", "--ray", ""], "--ray: expected auto, local or an address"),
        (
            ["sweep", "sweep.yaml", "--out", "none/r.duckdb"],
            "--out: none/r.duckdb: the folder none does not exist",
        ),
        (["results", "sweep.yaml"], "sweep.yaml: is a sweep; topoopt sweep takes it"),
        (["results", "sweep.duckdb", "--limit", "-1"], "--limit: expected an integer >= 0, got -1"),
        (["results", "sweep.duckdb", "--per", "model"], "--per: needs best"),
        (["results", "sweep.duckdb", "--sql", "SELECT 1", "--where", "true"], "--where: say it in sql"),
        (
            ["results", "sweep.duckdb", "--best", "fastest", "--order", "gap"],
            "--order: the rows of best are in",
        ),
        (["results", "sweep.duckdb", "--plot", "gap"], "--plot: needs --figure, too"),
        (
            ["results", "sweep.duckdb", "--plot", "gap", "--figure", "a.bmp"],
            "--figure: a.bmp: expected a file name",
        ),
        (
            ["results", "sweep.duckdb", "--plot", "gap", "--figure", "a.png", "--log", "z"],
            "--log: expected x, y, xy",
        ),
        (
            ["results", "sweep.duckdb", "--out", "rows.txt"],
            "--out: rows.txt: expected a file name that ends in .csv",
        ),
        (
            ["results", "sweep.duckdb", "--columns", "iteration_time"],
            'unknown name "iteration_time"; did you mean',
        ),
        (["results", "sweep.duckdb", "--where", "model ="], "--where: syntax error"),
    ],
)
def test_a_mistake_is_one_line(made: Topoopt, words: list[str], message: str) -> None:
    ran = made(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
