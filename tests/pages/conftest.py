"""A plan, a comparison and a cluster, small, made once."""

import json
from typing import Any

import pytest

from tests.clusters.interleave.jobs import LINK_BPS, on_off
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterResult, result_from_mapping
from topoopt.clusters.interleave import compare_ways, equal_jobs, interleave
from topoopt.jobs import JobSettings, make_job
from topoopt.pages import Page, make_page
from topoopt.plans import Plan, comparison_from_mapping
from topoopt.search import SearchOptions, make_plan, simulated
from topoopt.simulation import SimResult
from topoopt.workloads import load_model


@pytest.fixture(scope="session")
def plan() -> Plan:
    job = make_job(
        load_model("dlrm", servers=16), ClusterSpec(12, 4, 100e9), JobSettings(memory_check="warn")
    )
    options = SearchOptions(budget=100, baseline_budget=20, wirings="strides")
    return make_plan(job, options, inputs={"model": "sha256:00ff"})


@pytest.fixture(scope="session")
def result(plan: Plan) -> SimResult:
    return simulated(plan.job, plan.strategy, plan.fabric, plan.outcome.simulator)


def fabric(name: str, time_s: float, cost_usd: float | None, gbps: float = 400.0) -> dict[str, Any]:
    return {
        "fabric": name,
        "description": f"{name}, as it is",
        "server_bandwidth_bps": gbps * 1e9,
        "relative_time": time_s / 0.02,
        "simulator": "analytic",
        "iteration_time_s": time_s,
        "compute_time_s": 0.01,
        "exposed_communication_s": time_s - 0.01,
        "link_bytes_max": 1e8,
        "bandwidth_tax": 1.1,
        "cost_usd": cost_usd,
        "proposals": 10,
        "iteration_times_s": {"analytic": time_s, "flow": 1.01 * time_s},
        "difference": 0.01,
        "tasks": [],
    }


@pytest.fixture
def comparison_document() -> dict[str, Any]:
    return {
        "format": "topoopt-comparison",
        "model": "dlrm-16",
        "servers": 16,
        "degree": 4,
        "bandwidth_bps": 100e9,
        "simulator": "analytic",
        "simulators": ["analytic", "flow"],
        "collective": "stepped",
        "skipped_fabrics": [["rail", "rail: has no price"]],
        "seed": 3,
        "prices": "2022",
        "provenance": {"version": "0.1.0", "seed": 3, "inputs": {"job": "sha256:abcd"}},
        "fabrics": [
            fabric("topoopt", 0.02, 80_000.0),
            fabric("fat-tree", 0.05, 50_000.0, 125.0),
            fabric("fat-tree", 0.03, 82_000.0, 200.0),
            fabric("ideal-switch", 0.015, 170_000.0),
            fabric("mixnet", 0.016, None),
        ],
    }


def job(
    number: int, first: int, arrival_s: float, start_s: float, end_s: float, time_s: float
) -> dict[str, Any]:
    return {
        "id": f"job-{number}",
        "model": "dlrm" if number % 2 else "bert",
        "servers": list(range(first, first + 4)) if number != 3 else [0, 1, 6, 7],
        "arrival_s": arrival_s,
        "start_s": start_s,
        "end_s": end_s,
        "queueing_s": (start_s - arrival_s) * 0.75,
        "rewiring_s": (start_s - arrival_s) * 0.25,
        "completion_time_s": end_s - arrival_s,
        "iterations": (end_s - start_s) / time_s,
        "iteration_time_s": {"mean": time_s, "p99": 1.5 * time_s},
    }


def run(name: str, slowdown: float) -> dict[str, Any]:
    distribution = {
        "mean": 0.03 * slowdown,
        "p50": 0.02 * slowdown,
        "p99": 0.06 * slowdown,
        "max": 0.06 * slowdown,
    }
    seconds = {"mean": 100.0, "p50": 90.0, "p99": 200.0, "max": 210.0}
    return {
        "fabric": name,
        "description": f"{name} of the same money",
        "server_bandwidth_bps": 400e9,
        "iteration_time_s": distribution,
        "completion_time_s": seconds,
        "queueing_s": {"mean": 10.0, "p50": 0.0, "p99": 40.0, "max": 40.0},
        "rewiring_s": {"mean": 1.0, "p50": 1.0, "p99": 1.0, "max": 1.0},
        "utilization": 0.6,
        "moves": 12,
        "jobs": [
            job(1, 0, 0.0, 4.0, 100.0, 0.02 * slowdown),
            job(2, 4, 1.0, 5.0, 301.0, 0.06 * slowdown),
            job(3, 0, 50.0, 130.0, 230.0, 0.02 * slowdown),
        ],
        "running": [
            [4.0, 1, 4.0],
            [5.0, 2, 8.0],
            [100.0, 1, 4.0],
            [130.0, 2, 8.0],
            [230.0, 1, 4.0],
            [301.0, 0, 0.0],
        ],
    }


@pytest.fixture
def cluster_document() -> dict[str, Any]:
    return {
        "format": "topoopt-cluster",
        "version": 1,
        "trace": "trace.csv",
        "seed": 5,
        "servers": 8,
        "degree": 4,
        "bandwidth_bps": 100e9,
        "provenance": {"version": "0.1.0", "seed": 5, "inputs": {"trace": "sha256:1234"}},
        "settings": {"queue": "fifo", "weighting": "jobs", "panels": {"look_ahead": True, "move_s": 30.0}},
        "fabrics": [run("topoopt", 1.0), run("fat-tree", 2.0)],
    }


@pytest.fixture
def cluster(cluster_document: dict[str, Any]) -> ClusterResult:
    return result_from_mapping(json.loads(json.dumps(cluster_document)))


@pytest.fixture(scope="session")
def plan_page(plan: Plan) -> Page:
    return make_page(plan)


@pytest.fixture
def pages(plan_page: Page, comparison_document: dict[str, Any], cluster: ClusterResult) -> dict[str, Page]:
    comparison = make_page(comparison_from_mapping(comparison_document))
    shared = make_page(interleave([on_off(40, 10), on_off(62, 10)], LINK_BPS))
    return {
        "plan": plan_page,
        "comparison": comparison,
        "cluster": make_page(cluster),
        "shared link": shared,
        "ways of sharing": make_page(compare_ways(equal_jobs((0.4, 0.4), 0.1, LINK_BPS))),
    }
