"""Figures for the screen: JSON can hold them, and they say what is drawn, in which colors, from where to where."""

import json
import re

import pytest

from tests.pages import charts
from topoopt.pages import Chart, HeatmapChart, LineChart, Page, Series
from topoopt.pages.chart_layout import DARK, LIGHT
from topoopt.pages.report_files import asset
from topoopt.pages.screen import UNROLLED_FROM, figure

KINDS = {"lines", "bars", "heatmap", "timeline", "circle", "unrolled", "polar", "stages"}


def as_json(chart: Chart) -> str:
    return json.dumps(figure(chart), allow_nan=False)


@pytest.mark.parametrize("chart", charts.every_kind(), ids=lambda chart: chart.name)
def test_every_kind_is_drawn_by_a_module_of_the_page(chart: Chart) -> None:
    kind = json.loads(as_json(chart))["kind"]
    assert kind in KINDS
    tables = re.findall(r"^const (?:KINDS|NETWORKS) = (.*);$", asset("charts/draw.js"), re.MULTILINE)
    assert sum(f"{kind}:" in table for table in tables) == 1


def test_json_holds_the_charts_of_every_page(pages: dict[str, Page]) -> None:
    for page in pages.values():
        for chart in page.charts:
            assert json.loads(as_json(chart))["name"] == chart.name


def test_a_gap_is_null_and_a_published_series_hollow() -> None:
    drawn = figure(charts.lines())
    assert drawn["series"][0]["y"][3] is None
    ours, published = drawn["series"][1:]
    assert ours["color"] == published["color"]
    assert (ours["hollow"], published["hollow"], published["joined"]) == (False, True, False)
    assert drawn["x"]["log"]
    assert drawn["y"]["log"]


def test_a_bar_that_a_series_has_not_is_null() -> None:
    ours, published = figure(charts.bars())["series"]
    assert ours["y"] == [15.0, 20.0, None]
    assert published["y"] == [16.0, None, 100.56]


def test_a_limit_is_a_line_within_the_axis() -> None:
    drawn = figure(charts.memory())
    assert drawn["limits"] == [{"value": 80.0, "label": "an accelerator has 80 GiB"}]
    assert drawn["value"]["high"] == pytest.approx(1.04 * 101)


def test_the_page_has_the_colors_of_the_series_light_and_dark() -> None:
    light, *dark = re.findall(r"--c0: (.*?) --plain: #\w+;", asset("charts/charts.css"))
    assert re.findall(r"#\w{6}", f"--c0: {light}") == list(LIGHT)
    assert [re.findall(r"#\w{6}", colors) for colors in dark] == [list(DARK)] * 2


def test_colors_are_numbers_of_the_page_s() -> None:
    for chart in charts.every_kind():
        found = re.findall(r'"color": ("?\w+"?)', as_json(chart))
        assert set(found) <= {*map(str, range(len(LIGHT))), '"plain"'}, chart.name


def test_what_a_user_wrote_stays_as_it_is() -> None:
    """The page writes it as text, never as tags."""
    chart = LineChart(
        "a", "A", "<b>x</b>", "y", (Series("<i>s</i>", ("<u>w</u>",), (1.0,), labels=("<br>",)),)
    )
    drawn = figure(chart)
    assert drawn["series"][0]["name"] == "<i>s</i>"
    assert drawn["series"][0]["labels"] == ["<br>"]
    assert drawn["x"] == {"label": "<b>x</b>", "words": ["<u>w</u>"]}
    for name in (
        "draw",
        "lines",
        "bars",
        "heatmap",
        "timeline",
        "polar",
        "stages",
        "circle",
        "unrolled",
        "hover",
        "svg",
    ):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(", asset(f"charts/{name}.js")), name


def test_a_circle_has_a_place_for_every_node_and_every_cable_once() -> None:
    drawn = figure(charts.circle(8, switches=2))
    assert len(drawn["places"]) == 10
    assert drawn["places"][0] == [0.0, 1.0]
    cables = [tuple(pair) for ring in drawn["rings"] for pair in ring["cables"]]
    assert len(cables) == len(set(cables)) == 8 + 8 + 16
    assert [ring["name"] for ring in drawn["rings"]] == ["ring +1", "ring +3", "other links"]
    assert drawn["routes"] == {0: {2: "50 1;50 7"}}


def test_many_servers_are_unrolled_ring_by_ring() -> None:
    assert figure(charts.circle(UNROLLED_FROM - 1))["kind"] == "circle"
    drawn = figure(charts.circle(UNROLLED_FROM))
    assert drawn["kind"] == "unrolled"
    assert "places" not in drawn
    assert [one["name"] for one in drawn["walks"]] == ["ring +1", "ring +3"]
    for one, step in zip(drawn["walks"], (1, 3), strict=True):
        assert one["walk"] == [i * step % UNROLLED_FROM for i in range(UNROLLED_FROM)]


def test_a_row_of_colors_is_kept_in_runs() -> None:
    drawn = figure(charts.heatmap())
    values = [
        [
            drawn["levels"][level]
            for level, count in zip(row[::2], row[1::2], strict=True)
            for _ in range(count)
        ]
        for row in drawn["rows"]
    ]
    assert values == [[0, 1_000_000, 2_000_000_000], [3, 0, None], [1, 5, 0]]
    even = figure(HeatmapChart("even", "Even", "to", "from", "bytes", ((7.0,) * 9,) * 2))
    assert even["rows"] == [[1, 9], [1, 9]]
