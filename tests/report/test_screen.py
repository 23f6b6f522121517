"""Figures for the screen: plotly knows every key of them, and JSON can hold them."""

import json

import plotly.graph_objects as go
import pytest

from tests.report import charts
from topoopt.report import Chart, HeatmapChart, LineChart, Page, Series
from topoopt.report.screen import colors, figure
from topoopt.report.style import DARK, LIGHT


def plotly_knows(chart: Chart) -> None:
    drawn = figure(chart)
    json.dumps(drawn, allow_nan=False)
    if drawn["kind"] == "plotly":
        traces = [{key: value for key, value in trace.items() if key != "values"} for trace in drawn["data"]]
        go.Figure({"data": traces, "layout": drawn["layout"]})


@pytest.mark.parametrize("chart", charts.every_kind(), ids=lambda chart: chart.name)
def test_plotly_knows_every_kind(chart: Chart) -> None:
    plotly_knows(chart)


def test_plotly_knows_the_charts_of_every_page(pages: dict[str, Page]) -> None:
    for page in pages.values():
        for chart in page.charts:
            plotly_knows(chart)


def test_a_gap_is_null_and_a_published_point_hollow() -> None:
    drawn = figure(charts.lines())
    assert drawn["data"][0]["y"][3] is None
    ours, published = drawn["data"][1:]
    assert ours["marker"]["color"] == ours["line"]["color"]
    assert published["marker"]["color"] == "#ffffff"
    assert published["mode"] == "markers"
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "log"


@pytest.mark.parametrize(("servers", "step"), [(2, 1), (16, 2), (128, 20)])
def test_servers_of_a_heat_map_have_whole_numbers(servers: int, step: int) -> None:
    chart = HeatmapChart("map", "Map", "to", "from", "bytes", ((1.0,) * servers,) * servers)
    layout = figure(chart)["layout"]
    assert layout["xaxis"]["dtick"] == layout["yaxis"]["dtick"] == step


def test_every_color_of_a_figure_has_a_dark_one() -> None:
    known = colors()
    assert set(LIGHT) <= set(known)
    assert {known[color] for color in LIGHT} == set(DARK)
    for chart in charts.every_kind():
        text = json.dumps(figure(chart))
        found = {word for word in text.split('"') if word.startswith("#") and len(word) == 7}
        assert found <= set(known), chart.name


def test_tags_in_names_are_shown_and_not_obeyed() -> None:
    chart = LineChart(
        "a", "A", "<b>x</b>", "y", (Series("<i>s</i>", ("<u>w</u>",), (1.0,), labels=("<br>",)),)
    )
    drawn = figure(chart)
    assert drawn["data"][0]["name"] == "&lt;i&gt;s&lt;/i&gt;"
    assert drawn["data"][0]["x"] == ["&lt;u&gt;w&lt;/u&gt;"]
    assert drawn["data"][0]["text"] == ["&lt;br&gt;"]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "&lt;b&gt;x&lt;/b&gt;"


def test_a_circle_has_a_place_for_every_node_and_every_cable_once() -> None:
    drawn = figure(charts.circle(8, switches=2))
    assert len(drawn["places"]) == 10
    assert drawn["places"][0] == [0.0, 1.0]
    cables = [tuple(pair) for ring in drawn["rings"] for pair in ring["cables"]]
    assert len(cables) == len(set(cables)) == 8 + 8 + 16
    assert [ring["name"] for ring in drawn["rings"]] == ["ring +1", "ring +3", "other links"]
    assert drawn["routes"] == {"0-2": [[0.5, 0, 1, 2], [0.5, 0, 7, 2]]}
