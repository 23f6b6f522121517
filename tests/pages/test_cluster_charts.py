"""A cluster's charts: distributions, occupancy, and what a job's time is spent with."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.clusters import ClusterResult
from topoopt.pages import make_page, page_of
from topoopt.pages.cluster_page import (
    _distribution,
    completion_times,
    iteration_times,
    job_times,
    occupancy,
    queueing_times,
    servers_busy,
    waiting_shares,
)


def test_the_share_of_jobs_at_or_below_is_counted(cluster: ClusterResult) -> None:
    line = completion_times(cluster).series[0]
    times = sorted(job.completion_time_s for job in cluster.fabrics[0].jobs)
    assert line.y == pytest.approx((0.0, 1 / 3, 2 / 3, 1.0))
    assert line.x[1:] == pytest.approx(tuple(times))
    assert line.stepped


def test_iterations_count_when_the_result_weighs_them(cluster: ClusterResult) -> None:
    by_jobs = iteration_times(cluster).series[0]
    weighed = iteration_times(replace(cluster, settings={"weighting": "iterations"})).series[0]
    jobs = cluster.fabrics[0].jobs
    fast = sum(job.iterations for job in jobs if job.iteration_time_mean_s == 0.02)
    assert by_jobs.y[1] == pytest.approx(2 / 3)
    assert weighed.y[1] == pytest.approx(fast / sum(job.iterations for job in jobs))


def test_long_distributions_are_thinned_and_keep_their_ends() -> None:
    values = np.random.default_rng(1).random(5000).tolist()
    line = _distribution("many", values, [1.0] * 5000)
    assert len(line.x) < 500
    assert (line.x[0], line.x[-1], line.y[-1]) == (min(values), max(values), 1.0)
    middle = np.searchsorted(np.asarray(line.y), 0.5)
    assert float(line.x[middle]) == pytest.approx(np.median(values), abs=0.01)


def test_the_shares_have_lines_at_the_percentiles(cluster: ClusterResult) -> None:
    assert [(one.value, one.name) for one in queueing_times(cluster).limits] == [
        (0.5, "p50"),
        (0.9, "p90"),
        (0.99, "p99"),
    ]


def test_no_job_gives_an_empty_line() -> None:
    assert _distribution("none", [], []).x == ()


def test_blocks_of_the_occupancy_are_the_server_seconds_of_the_jobs(cluster: ClusterResult) -> None:
    run = cluster.fabrics[0]
    chart = occupancy(1, run, cluster.servers, 1e4)
    assert (chart.height, chart.span_s) == (cluster.servers, (0.0, 1e4))
    assert {bar.name for bar in chart.bars} == {job.job for job in run.jobs if job.end_s > job.start_s}
    area = sum((bar.finish_s - bar.start_s) * bar.lanes for bar in chart.bars)
    assert area == pytest.approx(sum(len(job.servers) * (job.end_s - job.start_s) for job in run.jobs))
    split = [(bar.lane, bar.lanes) for bar in chart.bars if bar.label.startswith("job-3")]
    assert split == [(0, 2), (6, 2)]


def test_queueing_counts_waiting_for_servers_and_wiring(cluster: ClusterResult) -> None:
    line = queueing_times(cluster).series[0]
    waits = sorted(job.start_s - job.arrival_s for job in cluster.fabrics[0].jobs)
    assert float(line.x[-1]) == pytest.approx(waits[-1])


def test_means_by_model_are_weighed_by_iterations(cluster: ClusterResult) -> None:
    ours, theirs = job_times(cluster).series
    assert dict(zip(ours.x, ours.y, strict=True)) == pytest.approx({"dlrm": 20.0, "bert": 60.0})
    assert theirs.y == pytest.approx([2 * time for time in ours.y])


def test_a_jobs_time_is_iterating_and_waiting(cluster: ClusterResult) -> None:
    parts = waiting_shares(cluster).series
    assert sum(part.y[0] for part in parts) == pytest.approx(cluster.fabrics[0].completion_time_s.mean)


def test_busy_servers_never_exceed_the_cluster(cluster: ClusterResult) -> None:
    for line in servers_busy(cluster).series:
        assert max(line.y) <= cluster.servers


def test_a_cluster_without_a_fabric_or_a_job_is_a_page(cluster: ClusterResult) -> None:
    assert "No fabric" in make_page(replace(cluster, fabrics=())).headline
    idle = replace(cluster.fabrics[0], jobs=(), running=())
    assert make_page(replace(cluster, fabrics=(idle,))).charts


def test_charts_of_fabrics_of_one_name_have_names_of_their_own(cluster: ClusterResult) -> None:
    page = make_page(replace(cluster, fabrics=cluster.fabrics[:1] * 2))
    names = [chart.name for chart in page.charts]
    assert len(names) == len(set(names))


def test_settings_of_any_kind_are_shown(cluster: ClusterResult) -> None:
    """A file's settings are whatever was written there."""
    odd = replace(cluster, settings={"queue": ["fifo"], "placement": "any", "link_bandwidth_bps": "fast"})
    text = str(make_page(odd))
    assert "fifo" in text
    assert "fast" in text


def test_a_report_has_no_bar_for_a_single_number(cluster: ClusterResult) -> None:
    alone = replace(cluster, fabrics=cluster.fabrics[:1])
    assert "utilization" in {chart.name for chart in page_of(alone).charts}
    assert "utilization" not in {chart.name for chart in make_page(alone).charts}
    assert "utilization" in {chart.name for chart in make_page(cluster).charts}
