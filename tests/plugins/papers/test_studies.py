"""What every study keeps to, so that tables, files, pages and pictures can be made of any of them."""

import math
import re

import pytest

from tests.plugins.papers.studies_run import ALL, QUICK_ONES, marked, run
from topoopt.base.errors import InvalidInput
from topoopt.plugins.papers import STUDIES, find_study

UNITS = ("_s", "_bytes", "_bps", "_usd", "_db", "_w")
pytestmark = pytest.mark.reproduction


def test_studies_stand_in_the_order_of_the_paper() -> None:
    figures = [f"fig{number}" for number in range(10, 18)]
    order = ["motivation", *figures, "testbed", "table1", "mixnet", "cassini", "mltcp", "wirings", "serving"]
    assert list(STUDIES) == [name for name in order if name in STUDIES]


def test_every_study_is_run_here_whole_or_in_small() -> None:
    assert set(ALL) == {name for name, entry in STUDIES.items() if not entry.measured}


def test_a_title_fits_on_a_line_with_its_name() -> None:
    assert all(len(f"{name}  {entry.title}") <= 110 for name, entry in STUDIES.items())


def test_a_misspelled_figure_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r'^figure: unknown name "fig31"; did you mean .*fig13'):
        find_study("fig31")


@pytest.mark.parametrize("name", marked(QUICK_ONES))
def test_what_has_a_tolerance_is_met_and_everything_else_explained(name: str) -> None:
    rows = run(name).comparisons
    assert rows
    for row in rows:
        assert row.met is not False, f"{row.what}: {row.ours} for {row.published_low}"
        assert row.met or row.explanation, f"{row.what}: reported without a word why"
        assert row.origin
        assert math.isfinite(row.ours)
    assert len({row.what for row in rows}) == len(rows)


@pytest.mark.parametrize("name", marked(ALL))
def test_rows_are_alike_and_plain(name: str) -> None:
    figure = run(name)
    assert figure.name == name
    columns = list(figure.rows[0])
    for row in figure.rows:
        assert list(row) == columns
        assert all(value is None or type(value) in (str, int, float, bool) for value in row.values()), row


@pytest.mark.parametrize("name", marked(ALL))
def test_times_and_bytes_say_their_unit(name: str) -> None:
    for column in run(name).rows[0]:
        if re.search(r"_time|cost|bandwidth(?!_tax)|loss", column):
            assert column.endswith(UNITS), column


@pytest.mark.parametrize("name", marked(ALL))
def test_charts_are_named_after_their_figure(name: str) -> None:
    charts = run(name).charts
    names = [chart.name for chart in charts]
    assert names
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(rf"{name}(-[a-z0-9-]+)?", chart) for chart in names)


@pytest.mark.parametrize("name", marked(ALL))
def test_published_values_are_among_ours_in_every_figure_that_has_them(name: str) -> None:
    figure = run(name)
    published = [row for row in figure.comparisons if row.published_high]
    if len({row.what for row in published}) < 2:
        return
    overlaid = [one for chart in figure.charts for one in getattr(chart, "series", ()) if one.published]
    assert overlaid or any(chart.name == f"{name}-published" for chart in figure.charts)
    for one in overlaid:
        ours = {x for chart in figure.charts for own in chart.series if one in chart.series for x in own.x}  # type: ignore[union-attr]
        assert set(one.x) <= ours
