"""Questions to a results file, compared with the same question asked of the points in Python."""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from tests.studies.sweep.conftest import pretending
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import (
    Results,
    axes_of,
    best,
    lines_of,
    open_results,
    query,
    read_sweep,
    run_sweep,
    select,
    summarized,
)

SWEEP = "models: [dlrm, bert]\nservers: [8, 16]\nbandwidth: [25 Gbps, 100 Gbps]\nfabrics: [topoopt, torus]\n"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    folder = tmp_path_factory.mktemp("results")
    (folder / "sweep.yaml").write_text(SWEEP)
    run_sweep(read_sweep(folder / "sweep.yaml"), folder / "r.duckdb", pretending()[0])
    (folder / "bad.yaml").write_text("models: vgg16\nservers: 8\n")
    run_sweep(read_sweep(folder / "bad.yaml"), folder / "r.duckdb", pretending("infeasible", error="no")[0])
    with open_results(folder / "r.duckdb") as opened:
        yield opened


def test_what_differs_are_the_axes(results: Results) -> None:
    assert axes_of(results) == ("model", "servers", "bandwidth_bps", "fabric")
    summary = summarized(results)
    assert summary.by_status == {"infeasible": 1, "ok": 16}
    assert summary.axes["servers"] == (8, 16)
    assert (summary.sweeps, summary.runs, summary.errors) == (("sweep.yaml", "bad.yaml"), 2, (("no", 1),))


def test_rows_are_those_of_the_condition_in_the_order_asked_for(results: Results) -> None:
    found = select(
        results,
        ("servers", "iteration_time_s"),
        where="fabric = 'torus' AND model = 'bert' -- so",
        order="2 DESC",
    )
    times = [n / bps * 1e9 for n in (8, 16) for bps in (25e9, 100e9)]
    assert [row[1] for row in found.rows] == sorted(times, reverse=True)
    assert select(results, ("model",), limit=3).rows == (("bert",),) * 3


def test_the_best_has_least_of_it_in_every_group(results: Results) -> None:
    rows = select(
        results, ("model", "servers", "iteration_time_s", "bandwidth_bps"), where="status = 'ok'"
    ).rows
    for model, servers, time_s in best(
        results, ("model", "servers", "iteration_time_s"), "fastest", ("model", "servers")
    ).rows:
        assert time_s == min(row[2] for row in rows if row[:2] == (model, servers))
    least = best(results, ("iteration_time_s * bandwidth_bps",), "iteration_time_s * bandwidth_bps", ()).rows
    assert least == ((min(row[2] * row[3] for row in rows),),)
    assert {row[0] for row in best(results, ("fabric",), "cheapest", ("servers",)).rows} == {"topoopt"}


def test_lines_are_means_where_several_points_share_a_place(results: Results) -> None:
    found = lines_of(results, "bandwidth_bps", "iteration_time_s", ("model",), "fabric = 'topoopt'")
    assert [line.name for line in found.lines] == ["bert", "dlrm"]
    assert found.lines[0].x == (25e9, 100e9)
    assert found.lines[0].y == pytest.approx([fmean((8 / 25, 16 / 25)), fmean((8 / 100, 16 / 100))])
    assert (found.averaged, found.fixed) == (("servers",), (("fabric", "topoopt"),))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("DELETE FROM points", "sql: results are only read here"),
        ("COPY points TO 'out.csv'", "sql: results are only read here, and no other file"),
        ("SELECT * FROM read_csv('other.csv')", "sql: results are only read here, and no other file"),
        ("SET enable_external_access = true", "sql: .*configuration"),
        ("SELCT 1", 'sql: syntax error at or near "SELCT"; columns: model, servers'),
        (
            "SELECT * FROM pionts",
            "sql: Table with name pionts does not exist.* Known: points, runs, attempts",
        ),
        ("SELECT fabrc FROM points", 'sql: column: unknown name "fabrc"; did you mean fabric'),
        ("-- nothing", "sql: expected a question in SQL, got none"),
    ],
)
def test_a_question_that_is_none_is_one_line(results: Results, question: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        query(results, question)
    assert "\n" not in str(caught.value)


def test_a_misspelled_column_is_named_by_its_word(results: Results) -> None:
    with pytest.raises(InvalidInput, match=r'^columns: column: unknown name "modle"; did you mean mode'):
        select(results, ("modle",))
    with pytest.raises(InvalidInput, match=r'^where: column: unknown name "modle"'):
        select(results, ("model",), where="modle = 'x'")
    with pytest.raises(InvalidInput, match=r'^order: column: unknown name "modle"'):
        select(results, ("model",), order="modle")
    with pytest.raises(InvalidInput, match=r'^best: unknown name "fast"; did you mean fastest'):
        best(results, ("model",), "fast", ())
    with pytest.raises(InvalidInput, match=r'^by: column: unknown name "modle"'):
        lines_of(results, "servers", "gap", ("modle",))
    with pytest.raises(InvalidInput, match=r"^y: expected numbers, got strategy"):
        lines_of(results, "servers", "strategy", ("model",))
    with pytest.raises(InvalidInput, match=r"^plot: no point has both servers and gap"):
        lines_of(results, "servers", "gap", ("model",))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"r.duckdb: no such file"), open_results(tmp_path / "r.duckdb"):
        pass
