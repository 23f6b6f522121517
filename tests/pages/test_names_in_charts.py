"""Names in charts as a browser and matplotlib draw them: leaders, rings, objectives and jobs."""

import re
from pathlib import Path

import pytest

from tests.pages.browser import NEEDED, opened
from topoopt.pages import Bar, LineChart, Page, Section, Series, TimelineChart, html
from topoopt.pages.chart import Limit
from topoopt.pages.paper_figure import axes_of
from topoopt.pages.pareto_chart import ParetoPoint, pareto_front, pareto_series

POINTS = [
    ParetoPoint("fat-tree", 100, 40, "fat-tree"),
    *(ParetoPoint(f"twin-{place}", 400 + place / 100, 20, "") for place in range(5)),
    ParetoPoint("topoopt", 300, 30, "topoopt"),
    ParetoPoint("rail", 410, 35, "rail"),
]


def crowded() -> LineChart:
    series = pareto_series(POINTS, pareto_front(POINTS), {"this plan": POINTS[-1]})
    return LineChart("crowded", "Crowded", "price ($)", "time (s)", series, x_limits=(Limit(350, "budget"),))


def jobs() -> TimelineChart:
    bars = (Bar(0, 0, 50, "bert", "", 4, "job-1"), Bar(0, 50, 50.1, "dlrm", "", 4, "job-2"))
    return TimelineChart("jobs", "Jobs", "server", (), bars, count=8, until_s=200)


@NEEDED
def test_every_network_has_a_name_and_a_crowded_one_a_leader(tmp_path: Path) -> None:
    page = Page("charts", "Charts", sections=(Section("all", "", "", (crowded(), jobs())),))
    seen = opened(html(page), tmp_path)
    assert (seen.drawn, seen.complaints) == (2, [])
    names = re.findall(r'<text [^>]*class="beside[^"]*"[^>]*>([^<]+)<', seen.dom)
    assert sorted(names) == sorted([*(point.name for point in POINTS), "job-1"])
    assert seen.dom.count('class="leader"') >= 3
    assert seen.dom.count('class="ring"') == 1
    assert re.search(
        r'<g class="limit"><path d="M([\d.]+) [\d.]+V[\d.]+"></path><text [^>]*>budget<', seen.dom
    )
    timeline = seen.dom[seen.dom.index('data-chart="jobs"') :]
    assert "200 s" in timeline or "3 min" in timeline  # the shared end, not that of the bars


def test_paper_names_every_network_once() -> None:
    axes = axes_of(crowded())
    texts = [text.get_text() for text in axes.texts]
    assert sorted(texts) == sorted([*(point.name for point in POINTS), "budget"])


def test_timelines_of_fabrics_share_axis_and_lanes() -> None:
    axes = axes_of(jobs())
    assert axes.get_xlim() == (0, 200)
    assert axes.get_ylim()[0] == pytest.approx(7.55)
    assert [text.get_text() for text in axes.texts] == ["job-1"]


def test_the_front_is_named_once_and_the_rest_is_gray() -> None:
    rest, front, plan = crowded().series
    assert (rest.name, front.joined, plan.ringed) == ("other networks", True, True)
    assert set(front.names) == {"fat-tree", "topoopt", "twin-0"}
    assert "rail" not in rest.names
    assert isinstance(rest, Series)
