"""Latencies and load of a served model, as charts."""

import numpy as np
import pytest

import topoopt
from topoopt.inference import ServingAnswer
from topoopt.pages import LineChart
from topoopt.pages.serving_page import serving_page


@pytest.fixture(scope="module")
def answer() -> ServingAnswer:
    return topoopt.serving("llama3-8b", accelerators=2, rate=4, isl=512, osl=128, duration="1min")


@pytest.fixture(scope="module")
def charts(answer: ServingAnswer) -> dict[str, LineChart]:
    return {chart.name: chart for chart in serving_page(answer).charts if isinstance(chart, LineChart)}


def test_latencies_rise_to_the_right_with_percentiles_and_the_objective(
    answer: ServingAnswer, charts: dict[str, LineChart]
) -> None:
    run = answer.best.run
    for name, values, goal_s in (
        ("serving-ttft", run.ttft_s, answer.question.objectives.ttft_s),
        ("serving-tpot", run.tpot_s, answer.question.objectives.tpot_s),
    ):
        chart = charts[name]
        line, marks = chart.series
        assert chart.x_label == "time (s)"
        assert list(line.x) == sorted(map(float, line.x))
        assert (line.y[0], line.y[-1]) == (0.0, 1.0)
        assert marks.x == pytest.approx(tuple(np.nanquantile(values, (0.5, 0.9, 0.99))))
        assert [text.split()[0] for text in marks.names] == ["p50", "p90", "p99"]
        assert [limit.value for limit in chart.x_limits] == [goal_s]


def test_the_load_over_time_is_what_requests_spend_in_each_state(
    answer: ServingAnswer, charts: dict[str, LineChart]
) -> None:
    """By Little's law the mean number in a state is the time of all requests in it over that of the run."""
    run = answer.best.run
    load = {one.name: one for one in charts["serving-load"].series}
    assert set(load) == {"queue", "prefill", "batch"}
    decoding_s = float((run.answered_s - run.arrival_s - run.ttft_s).sum())
    assert np.mean(load["batch"].y) == pytest.approx(decoding_s / run.end_s, rel=0.15)
    (cache,) = charts["serving-cache"].series
    assert 0 < max(cache.y) <= float(run.peak_share.max()) * 1.1
    assert cache.x[0] == load["queue"].x[0] == 0
