"""The analytic simulator: every link serves transfers first come, first served, one at a time, at full bandwidth.

No rate is shared: a transfer holds each link of its route from when it is ready and the link free, for its
bytes over the bandwidth (cut-through), and ends when the last link is done, plus the transfer law's overhead.
Transfers of as many bytes that begin together on the same links end together, as with fair shares. Fast enough
for searches; equal to the flow simulator wherever nothing contends.

The time without rounds has no latency, no connections and no partly filled packets: bandwidth alone limits it.

This leaves the bytes that links really carry, first come, first served, in the same order of tasks. The difference
to the analytic simulation is the cost of many small messages: each round of a ring, hop of a path, bias of a
layer.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from topoopt.base.arrays import Floats, owners
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.analytic.task_run import task_run
from topoopt.simulation.analytic.task_run_kernel import ALIKE, CHAINS, FlowRun, run_first_come
from topoopt.simulation.flows.flows import Flows, make_flows, no_flows
from topoopt.simulation.flows.link_classes import sum_by
from topoopt.simulation.flows.link_classes_kernel import carry
from topoopt.simulation.options import DEFAULT_OPTIONS, Report, SimulationOptions
from topoopt.simulation.result import SimResult, steady_state_time_s
from topoopt.simulation.task_graph import COMPUTE, TaskGraph


def first_come_times(
    graph: TaskGraph, duration_s: Floats, flows: Flows, capacity: Floats
) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, given the links' capacities in bytes/s."""
    run, rows = task_run(graph, duration_s, 2 * len(flows)), flows.classes
    run_first_come(
        run,
        FlowRun(
            flows.task_flow,
            owners(flows.task_flow),
            flows.flow_class,
            flows.occupied_bytes,
            flows.before_s,
            flows.after_s,
            rows.rows.pair_first,
            rows.rows.link,
            rows.rows.share,
            rows.row,
            rows.turn,
            rows.link_of,
            capacity,
            np.zeros(len(capacity)),
            np.diff(flows.task_flow),
            np.zeros(len(graph)),
            np.zeros(len(graph), np.int64),
            np.empty(len(graph) + 2 * len(flows), np.int32),
            np.full(CHAINS, -1),
            np.zeros(CHAINS),
            np.zeros(len(graph)),
            np.full(len(graph), -1, np.int32),
            np.zeros(len(graph), np.int8),
            np.full(1, -1),
            np.zeros(ALIKE, np.int64),
        ),
    )
    assert not np.isnan(run.finish).any(), "a task graph without cycles always runs to its end"
    return run.start, run.finish


def compute_finish_s(graph: TaskGraph) -> Floats:
    """Return the finish of each task with free communication, shape (tasks,); the same on every fabric."""
    if graph not in _KEPT:
        duration_s = np.where(graph.kind == COMPUTE, graph.duration_s, 0.0)
        _KEPT[graph] = first_come_times(graph, duration_s, no_flows(len(graph)), np.ones(1))[1]
        _KEPT[graph].flags.writeable = False
    return _KEPT[graph]


_KEPT: WeakKeyDictionary[TaskGraph, Floats] = WeakKeyDictionary()


def flow_result(
    simulator: str,
    graph: TaskGraph,
    fabric: Fabric,
    flows: Flows,
    options: SimulationOptions,
    times_s: tuple[Floats, Floats],
) -> SimResult:
    """Return the result of flows on a fabric, given start and finish of every task."""
    link_bytes, hop_bytes = _carried(flows, len(fabric.topology))
    demanded = float(hop_bytes.sum())
    sent = float(link_bytes[fabric.topology.src < fabric.topology.servers].sum())
    return SimResult(
        simulator,
        graph,
        options,
        *times_s,
        compute_finish_s(graph),
        link_bytes,
        demanded,
        sent / demanded if demanded else 1.0,
        hop_bytes,
        flows.pair_hops,
    )


def _carried(flows: Flows, links: int) -> tuple[Floats, Floats]:
    """Return payload on each link, and demanded payload by the number of links it crosses."""
    classes = len(flows.classes.row)
    class_bytes = sum_by(flows.flow_class, flows.payload_bytes, classes)
    link_bytes = np.zeros(links)
    rows = flows.classes
    carry(
        rows.rows.pair_first, rows.rows.link, rows.rows.share, rows.row, rows.turn, rows.link_of,
        class_bytes, link_bytes,
    )  # fmt: skip
    kinds = len(flows.class_edges)
    return link_bytes, sum_by(flows.class_kind, class_bytes, kinds) @ flows.class_edges


def time_without_rounds_s(graph: TaskGraph, fabric: Fabric, flows: Flows) -> float:
    """Return the seconds of an iteration whose messages cost nothing but their bytes; ``flows`` are the graph's."""
    none = np.zeros(len(flows))
    plain = replace(flows, before_s=none, after_s=none, occupied_bytes=flows.payload_bytes)
    _, finish_s = first_come_times(graph, graph.duration_s, plain, fabric.topology.bandwidth_bps / 8.0)
    return steady_state_time_s(graph, finish_s)


def analytic(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> SimResult:
    """Simulate with first come, first served links; see :class:`topoopt.simulation.Simulator`.

    Raises
    ------
    InvalidInput
        If the fabric's circuits change over time.
    """
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"fabric {fabric.name}: the analytic simulator knows no circuits that change; use simulator=flow"
        )
    return analytic_of_flows(graph, fabric, make_flows(graph, fabric, options), options)


def analytic_of_flows(
    graph: TaskGraph, fabric: Fabric, flows: Flows, options: SimulationOptions
) -> SimResult:
    """Simulate flows that are there already."""
    times_s = first_come_times(graph, graph.duration_s, flows, fabric.topology.bandwidth_bps / 8.0)
    return flow_result("analytic", graph, fabric, flows, options, times_s)
