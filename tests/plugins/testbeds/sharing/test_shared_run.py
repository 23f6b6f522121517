"""The answer of jobs that shared a link: its means, as JSON, as a table, as a page."""

import pytest

from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.pages import page_of, page_text
from topoopt.pages.chart import LineChart
from topoopt.plugins.testbeds import TestbedLink, TestbedShare, sharing_job
from topoopt.plugins.testbeds.congestion_control import MltcpIteration
from topoopt.plugins.testbeds.sharing.processes import Iteration
from topoopt.plugins.testbeds.sharing.shared_run import JobRun, SharedRun, Sharing

LINK = TestbedLink(50e9, 500, 20)
JOBS = tuple(
    sharing_job(CommunicationProfile(name, 0.1, (Phase(0.0, 0.04, 50e9),)), LINK) for name in ("a", "b")
)


def job(name: str, *times_s: float) -> JobRun:
    starts_s = [sum(times_s[:n]) for n in range(len(times_s))]
    its = tuple(
        Iteration(start_s, start_s + time_s, 0.8) for start_s, time_s in zip(starts_s, times_s, strict=True)
    )
    return JobRun(name, 2.0, its)


RENO = Sharing(
    "reno",
    False,
    (
        SharedRun((job("a", 2.8, 2.8, 2.6, 2.6), job("b", 2.8, 2.8, 2.8, 2.8)), 10),
        SharedRun((job("a", 2.8, 2.8, 2.4, 2.4), job("b", 2.8, 2.8, 2.4, 2.4)), 20),
    ),
)
MLTCP = Sharing(
    "mltcp",
    False,
    (
        SharedRun(
            (job("a", 2.4, 2.2, 2.0, 2.0), job("b", 2.4, 2.2, 2.0, 2.2)),
            5,
            (MltcpIteration(4, 9, 9, 1.2, 3),),
        ),
    ),
)
SHARE = TestbedShare(JOBS, LINK, 20_000, (2.0, 2.0), (RENO, MLTCP), (0.0, 1.0))


def test_the_last_half_of_the_iterations_is_steady() -> None:
    first = RENO.runs[0]
    assert [one.steady_s for one in first.jobs] == pytest.approx([2.6, 2.8])
    assert first.slowdown == pytest.approx(1.35)
    assert first.slowdowns == pytest.approx([1.4, 1.4, 1.35, 1.35])


def test_runs_have_a_mean_and_a_spread() -> None:
    assert (RENO.least_slowdown, RENO.slowdown, RENO.most_slowdown) == pytest.approx((1.2, 1.275, 1.35))
    assert (RENO.first_slowdown, RENO.dropped_packets) == pytest.approx((1.4, 15))
    assert MLTCP.steady_time_s == pytest.approx(2.05)


def test_json_has_every_iteration() -> None:
    told = SHARE.to_json()
    assert told["bandwidth_bps"] == 100e6
    assert told["time_shifts_s"] == [0.0, 1.0]
    assert told["jobs"][0] == {
        "job": "a",
        "total_bytes": 10_000_000,
        "compute_time_s": pytest.approx(1.2),
        "dedicated_s": 2.0,
    }
    assert [way["congestion"] for way in told["ways"]] == ["reno", "mltcp"]
    (run,) = told["ways"][1]["runs"]
    assert run["jobs"][1]["iteration_times_s"] == pytest.approx([2.4, 2.2, 2.0, 2.2])
    assert run["kernel"][0]["learned_iterations"] == 3


def test_a_table_has_a_row_a_way() -> None:
    pytest.importorskip("pandas")
    assert SHARE.to_frame()["slowdown"].tolist() == pytest.approx([1.275, 1.025])


def test_a_page_compares_with_the_first() -> None:
    page = page_of(SHARE)
    said = " ".join(page_text(page).split())
    assert "mltcp 1.200 1.025 1.025 1.025 0.80 5" in said
    assert "the jobs begin 0 s, 1 s late, once" in said
    assert "100 Mb/s for 50 Gb/s" in said
    (chart,) = page.charts
    assert isinstance(chart, LineChart)
    assert [series.name for series in chart.series] == ["reno", "mltcp"]
