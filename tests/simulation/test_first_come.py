"""First come, first served, against a loop that takes one event at a time; equal moments are the rule, not chance."""

import heapq
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.routing import Fabric, KShortestRoutes, PairLinks, own_rows
from topoopt.simulation import COMPUTE, TRANSFER, TaskGraph, TaskRows, simulate, task_graph_from_edges
from topoopt.simulation.analytic.simulator import first_come_times
from topoopt.simulation.flows.flows import Flows
from topoopt.topologies import topology_from_arrays

LINKS = 3
CAPACITY = np.array([1.0, 2.0, 4.0])


@st.composite
def jobs(draw: st.DrawFn) -> tuple[TaskGraph, Flows]:
    """Return a few tasks of a few durations, and up to two flows of each transfer over one or two links."""
    count = draw(st.integers(1, 14))
    seconds = st.sampled_from([0.0, 1.0, 1.0, 2.0])
    kinds = draw(st.lists(st.sampled_from([COMPUTE, TRANSFER]), min_size=count, max_size=count))
    rows = [
        TaskRows(COMPUTE, 1, draw(seconds), server=draw(st.integers(0, 1)))
        if kind == COMPUTE
        else TaskRows(TRANSFER, 1, draw(seconds), src=0, dst=1, size_bytes=1)
        for kind in kinds
    ]
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=20))
    edges = np.array([pair for pair in pairs if pair[0] < pair[1]], np.int64).reshape(-1, 2)
    graph = task_graph_from_edges(2, rows, edges[:, 0], edges[:, 1])
    each = [draw(st.integers(0, 2)) if kind == TRANSFER else 0 for kind in kinds]
    flows = sum(each)
    classes = [
        draw(st.lists(st.integers(0, LINKS - 1), min_size=1, max_size=2, unique=True)) for _ in range(4)
    ]
    of_flow = np.array(draw(st.lists(st.integers(0, 3), min_size=flows, max_size=flows)), np.int64)
    numbers = st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=flows, max_size=flows)
    size, before, after = (np.array(draw(numbers)) for _ in range(3))
    entries = np.array([link for links in classes for link in links], np.int32)
    first = np.concatenate([[0], np.cumsum([len(links) for links in classes])]).astype(np.int64)
    links = own_rows(PairLinks(first, entries, np.ones(len(entries))), LINKS)
    nothing = np.zeros((4, 1))
    return graph, Flows(
        np.concatenate([[0], np.cumsum(each)]).astype(np.int64),
        of_flow,
        size,
        size,
        before,
        after,
        np.ones(flows),
        links,
        links.row,
        nothing,
        np.zeros(1),
    )


def are_equal(flows: Flows, owner: list[int], first: int, other: int) -> bool:
    """Return whether two flows are all that their tasks send, over the same links and of as many bytes."""
    alone = all(np.diff(flows.task_flow)[owner[flow]] == 1 for flow in (first, other))
    return bool(
        alone
        and flows.flow_class[first] == flows.flow_class[other]
        and flows.occupied_bytes[first] == flows.occupied_bytes[other]
    )


def by_single_events(graph: TaskGraph, flows: Flows) -> tuple[list[float], list[float]]:
    """Return start and finish of every task: events in order of time, then of code, one entry of a heap each."""
    tasks, count = len(graph), len(flows)
    start, finish = [np.nan] * tasks, [np.nan] * tasks
    waiting, to_start = graph.predecessors.tolist(), np.diff(flows.task_flow).tolist()
    last = [(0.0, 0)] * tasks
    queues: dict[int, list[tuple[float, int]]] = defaultdict(list)
    free_s, busy = [0.0] * LINKS, set[int]()
    events: list[tuple[float, int]] = []
    owner = np.repeat(np.arange(tasks), np.diff(flows.task_flow)).tolist()

    def begin(task: int, now: float) -> None:
        start[task] = now
        if graph.kind[task] == COMPUTE:
            heapq.heappush(queues[int(graph.device[task])], (now, task))
            return
        ready = now + float(graph.duration_s[task])
        if not to_start[task]:
            heapq.heappush(events, (ready, task))
        for flow in range(flows.task_flow[task], flows.task_flow[task + 1]):
            heapq.heappush(events, (ready + float(flows.before_s[flow]), tasks + flow))

    def devices(now: float) -> None:
        for device, queue in queues.items():
            if queue and device not in busy:
                task = heapq.heappop(queue)[1]
                busy.add(device)
                start[task] = now
                heapq.heappush(events, (now + float(graph.duration_s[task]), task))

    def occupied(flow: int, now: float) -> float:
        end, row = now, flows.flow_class[flow]
        for link in flows.class_link[flows.class_first[row] : flows.class_first[row + 1]].tolist():
            free_s[link] = max(free_s[link], now) + float(flows.occupied_bytes[flow]) / CAPACITY[link]
            end = max(end, free_s[link])
        return end

    def sent(flow: int, end: float) -> None:
        task = owner[flow]
        last[task] = max(last[task], (end + float(flows.after_s[flow]), flow))
        to_start[task] -= 1
        if not to_start[task]:
            heapq.heappush(events, (last[task][0], tasks + count + last[task][1]))

    for task in range(tasks):
        if not waiting[task]:
            begin(task, 0.0)
    devices(0.0)
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            code = heapq.heappop(events)[1]
            if tasks <= code < tasks + count:
                equals = [code - tasks]
                while events and events[0][0] == now and tasks <= events[0][1] < tasks + count:
                    if not are_equal(flows, owner, equals[0], events[0][1] - tasks):
                        break
                    equals.append(heapq.heappop(events)[1] - tasks)
                ends = [occupied(flow, now) for flow in equals]
                for flow in equals:
                    sent(flow, max(ends))
                continue
            task = code if code < tasks else owner[code - tasks - count]
            finish[task] = now
            if graph.kind[task] == COMPUTE:
                busy.discard(int(graph.device[task]))
            after = graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]]
            for other in after.tolist():
                waiting[other] -= 1
                if not waiting[other]:
                    begin(other, now)
        devices(now)
    return start, finish


@given(jobs())
def test_events_of_one_moment_are_served_in_the_order_of_their_codes(job: tuple[TaskGraph, Flows]) -> None:
    graph, flows = job
    start, finish = first_come_times(graph, graph.duration_s, flows, CAPACITY)
    expected = by_single_events(graph, flows)
    assert start.tolist() == expected[0]
    assert finish.tolist() == expected[1]


def test_equal_transfers_that_begin_together_end_together() -> None:
    """Lanes of a pipeline share one cable: served one after the other, all but the last would be ahead ever after."""
    lanes, stages, size = 4, 3, 10**9
    rows, src, dst = list[TaskRows](), list[int](), list[int]()
    for lane in range(lanes):
        for stage in range(stages):
            at = len(rows)
            rows.append(TaskRows(COMPUTE, 1, 1e-3, server=stage, accelerator=lane))
            if stage:
                rows.append(TaskRows(TRANSFER, 1, 0.0, src=stage - 1, dst=stage, size_bytes=size))
                src += [at - (2 if stage > 1 else 1), at + 1]
                dst += [at + 1, at]
    graph = task_graph_from_edges(stages, rows, np.array(src), np.array(dst))
    cables = topology_from_arrays("", stages, np.array([0, 1]), np.array([1, 2]), 8.0 * size, 0.0)
    fabric = Fabric("", cables, KShortestRoutes(cables), {})
    hop_s = lanes * size / size
    times_s = [simulate(name, graph, fabric).iteration_time_s for name in ("analytic", "flow")]
    assert times_s == pytest.approx([stages * 1e-3 + (stages - 1) * hop_s] * 2, rel=1e-3)
