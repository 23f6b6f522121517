"""The trace is in the form that Perfetto reads: complete events in lanes that do not overlap, with names."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topoopt.finder import FabricRequest, build_fabric
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    TRANSFER,
    SimResult,
    TaskRows,
    chrome_trace,
    flexnet_fabric,
    flexnet_task_graph,
    read_fbuf,
    simulate,
    task_graph_from_edges,
)

NETWORK_PHASES = ("activation", "gradient", "allreduce")
GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"


@pytest.fixture(scope="module", params=["flow", "packet"])
def result(request: pytest.FixtureRequest) -> SimResult:
    flexnet = read_fbuf(GRAPHS / "taskgraph12.fbuf.xz")
    graph = flexnet_task_graph(flexnet)
    return simulate(request.param, graph, flexnet_fabric(flexnet, graph.groups))


@pytest.fixture(scope="module")
def trace(result: SimResult) -> dict[str, Any]:
    """As a viewer gets it."""
    read: dict[str, Any] = json.loads(json.dumps(chrome_trace(result, "job"), allow_nan=False))
    return read


def bars(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_every_event_is_complete_or_metadata(trace: dict[str, Any]) -> None:
    assert {event["ph"] for event in trace["traceEvents"]} == {"X", "M"}
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
    for bar in bars(trace):
        assert bar["ts"] >= 0
        assert bar["dur"] > 0
        assert bar["name"]
    assert trace["displayTimeUnit"] in ("ms", "ns")


def test_processes_and_lanes_have_names(trace: dict[str, Any]) -> None:
    named = {
        (event["name"], event["pid"], event["tid"]): event["args"]
        for event in trace["traceEvents"]
        if event["ph"] == "M"
    }
    lanes = {(bar["pid"], bar["tid"]) for bar in bars(trace)}
    assert {pid for pid, _ in lanes} == set(range(12))
    for pid, tid in lanes:
        assert named["process_name", pid, 0] == {"name": f"server {pid}"}
        name = named["thread_name", pid, tid]["name"]
        assert name.startswith(("accelerator ", "network "))


def test_bars_of_a_lane_do_not_overlap(trace: dict[str, Any]) -> None:
    lanes = defaultdict(list)
    for bar in bars(trace):
        lanes[bar["pid"], bar["tid"]].append((round(bar["ts"] * 1e3), round(bar["dur"] * 1e3)))
    for spans in lanes.values():
        assert spans == sorted(spans)
        for (begin, lasts), (after, _) in pairwise(spans):
            assert begin + lasts <= after


def test_lanes_are_as_few_as_overlap_allows(result: SimResult, trace: dict[str, Any]) -> None:
    for server in range(12):
        mine = [
            bar
            for bar in bars(trace)
            if bar["pid"] == server and bar["cat"] in ("activation", "gradient", "allreduce")
        ]
        edges = sorted(
            [(round(bar["ts"] * 1e3), 1) for bar in mine]
            + [(round((bar["ts"] + bar["dur"]) * 1e3), -1) for bar in mine]
        )
        most = max(np.cumsum([step for _, step in edges]))
        assert len({bar["tid"] for bar in mine}) == most


def test_every_task_that_takes_time_has_its_bars(result: SimResult, trace: dict[str, Any]) -> None:
    graph = result.graph
    found = defaultdict(list)
    for bar in bars(trace):
        found[bar["args"]["task"]].append(bar)
    for task in range(len(graph)):
        begin_s = result.start_s[task] + (graph.duration_s[task] if graph.kind[task] != COMPUTE else 0.0)
        if result.finish_s[task] - begin_s < 2e-9:
            continue
        places = {
            COMPUTE: [int(graph.server[task])],
            TRANSFER: [int(graph.src[task])],
            COLLECTIVE: list(graph.members(task)),
        }[int(graph.kind[task])]
        if len(places) == 1 and graph.kind[task] == COLLECTIVE:
            continue
        assert sorted(bar["pid"] for bar in found[task]) == sorted(places)
        for bar in found[task]:
            assert bar["ts"] == pytest.approx(begin_s * 1e6, abs=1e-3)
            assert bar["ts"] + bar["dur"] == pytest.approx(result.finish_s[task] * 1e6, abs=2e-3)
    last = max(bar["ts"] + bar["dur"] for bar in bars(trace))
    assert last == pytest.approx(result.iteration_time_s * 1e6, abs=2e-3)


def test_accelerators_of_a_server_are_lanes_of_their_own() -> None:
    nothing = np.zeros(0, np.int64)
    rows = [
        TaskRows(COMPUTE, 2, duration_s=1e-3, server=np.zeros(2, np.int64), accelerator=np.arange(2), phase=0)
    ]
    graph = task_graph_from_edges(2, rows, nothing, nothing)
    trace = chrome_trace(simulate("flow", graph, build_fabric("ideal-switch", FabricRequest(2, 1, 1e9))))
    assert [(bar["pid"], bar["tid"], bar["name"]) for bar in bars(trace)] == [
        (0, 0, "forward"),
        (0, 1, "forward"),
    ]
