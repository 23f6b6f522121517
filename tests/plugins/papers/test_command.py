"""``topoopt reproduce``: what it prints and writes, and what it answers to mistakes."""

import csv
import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.plugins.papers import STUDIES, Figure, StudySettings

pytestmark = pytest.mark.reproduction


def test_the_list_names_every_study(topoopt: Topoopt) -> None:
    printed = topoopt("reproduce", "list")
    assert printed.code == 0
    assert all(name in printed.out for name in STUDIES)
    listed = json.loads(topoopt("reproduce", "list", "--json").out)["figures"]
    assert [row["figure"] for row in listed] == list(STUDIES)


def test_a_figure_is_printed_and_its_files_are_written(topoopt: Topoopt, tmp_path: Path) -> None:
    printed = topoopt("reproduce", "table1", "--pictures", "svg")
    assert printed.code == 0, printed.err
    assert "24 of 24 met" in printed.out
    assert "reproduction/table1.csv" in printed.out
    assert max(map(len, printed.out.splitlines())) <= 110
    assert {path.name for path in (tmp_path / "reproduction").iterdir()} == {
        "table1.csv",
        "table1-duty.svg",
        "table1-ports.svg",
    }
    rows = list(csv.DictReader((tmp_path / "reproduction" / "table1.csv").read_text().splitlines()))
    assert {row["technology"] for row in rows} >= {"patch-panel", "3d-mems", "plzt"}
    assert next(row for row in rows if row["technology"] == "plzt")["insertion_loss_low_db"] == ""


def test_json_holds_comparisons_rows_and_files(topoopt: Topoopt) -> None:
    words = ("--json", "--quick", "--pictures", "none", "--out", "here/and/there")
    document = json.loads(topoopt("reproduce", "fig14", *words).out)
    (figure,) = document["figures"]
    assert (document["quick"], document["seed"]) == (True, 0)
    assert figure["files"] == ["here/and/there/fig14.csv"]
    assert {row["met"] for row in figure["comparisons"]} == {True}
    assert figure["rows"][0]["servers"] == 12


def test_rows_as_parquet(topoopt: Topoopt, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ran = topoopt("reproduce", "fig10", "--format", "parquet", "--pictures", "none", "--out", "rows")
    assert ran.code == 0, ran.err
    table = parquet.read_table(tmp_path / "rows" / "fig10.parquet")
    assert table.num_rows > 100
    assert "cost_usd" in table.column_names


def test_the_page_and_its_pictures(topoopt: Topoopt, tmp_path: Path) -> None:
    ran = topoopt("reproduce", "table1", "--pictures", "none", "--page", "page.md")
    assert ran.code == 0, ran.err
    text = (tmp_path / "page.md").read_text()
    assert "## table1" in text
    for name in ("table1-duty.svg", "table1-ports.svg"):
        assert f'"pictures/reproduction/{name}"' in text
        assert (tmp_path / "pictures" / "reproduction" / name).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fig31",), 'figure: unknown name "fig31"; did you mean'),
        (("tabel1",), "did you mean table1?"),
        ((), "missing argument"),
        (("fig14", "--format", "xlsx"), '--format: unknown name "xlsx"; Known: csv, parquet'),
        (("fig14", "--pictures", "png,gif"), '--pictures: unknown name "gif"; Known: none, pdf, png, svg'),
        (("fig14", "--seed", "-1"), "--seed: expected an integer >= 0, got -1"),
        (("fig14", "--out", "a-file"), "--out: a-file is a file, expected a folder"),
        (("fig14", "--out", "a-file/below"), "--out: a-file/below cannot be made: Not a directory"),
        (("fig14", "--out", ""), "--out: expected the name of a folder, got nothing"),
        (
            ("fig14", "--page", "nowhere/page.md"),
            "--page: nowhere/page.md: the folder nowhere does not exist",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    topoopt: Topoopt, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a-file").write_text("mine")
    ran = topoopt("reproduce", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


def test_ctrl_c_keeps_the_figures_that_are_done(
    topoopt: Topoopt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = STUDIES["table1"]

    def interrupted(settings: StudySettings, on_progress: object) -> Figure:
        raise KeyboardInterrupt

    stopped = type(entry)(entry.title, interrupted, entry.shown)
    monkeypatch.setattr("topoopt.plugins.papers.studies.STUDIES", {"table1": entry, "fig13": stopped})
    ran = topoopt("reproduce", "all", "--pictures", "none", "--page", "page.md")
    assert ran.code == 130
    assert ran.err == "interrupted: done and kept in reproduction: table1\n"
    assert [path.name for path in (tmp_path / "reproduction").iterdir()] == ["table1.csv"]
    assert not (tmp_path / "page.md").exists()
    first = topoopt("reproduce", "fig13", "--pictures", "none")
    assert (first.code, first.err) == (130, "interrupted: nothing was written\n")
