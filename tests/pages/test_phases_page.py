"""The page of a job's phases: its table, its chart, and the other links."""

import numpy as np

import topoopt
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.pages.chart import LineChart

WRAPPING = CommunicationProfile("a", 0.1, (Phase(0.02, 0.03, 4e9), Phase(0.09, 0.02, 8e9)))


def test_the_chart_steps_from_rate_to_rate_and_wraps() -> None:
    page = topoopt.page_of(topoopt.phases(WRAPPING))
    (chart,) = page.charts
    assert isinstance(chart, LineChart)
    (line,) = chart.series
    np.testing.assert_allclose([float(x) for x in line.x], [0, 10, 20, 50, 90, 100])
    np.testing.assert_allclose(line.y, [8, 0, 4, 0, 8, 8])
    assert line.stepped


def test_the_page_says_how_much_is_sent_and_when() -> None:
    text = str(topoopt.phases(WRAPPING))
    assert "a: 2 phases in an iteration of 100 ms" in text
    assert "35 MB in 50.0% of the iteration" in text  # 0.03 s of 0.5 GB/s and 0.02 s of 1 GB/s
    assert "Links" not in text


def test_a_job_that_sends_nothing_has_a_page() -> None:
    page = topoopt.page_of(topoopt.phases(CommunicationProfile("quiet", 0.1, ())))
    assert page.key_numbers["duty"] == 0
    assert [float(x) for x in page.charts[0].series[0].x] == [0.0, 100.0]  # type: ignore[union-attr]
