"""One run of the event loop: from a task graph, flows and a sharing rule to a SimResult."""

import dataclasses

import numpy as np

from topoopt.routing import Fabric
from topoopt.simulate import kernel
from topoopt.simulate.flows import Flows, no_flows
from topoopt.simulate.link_classes import sum_by
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import COMPUTE, Floats, TaskGraph


def run(
    simulator: str,
    graph: TaskGraph,
    fabric: Fabric,
    flows: Flows,
    options: SimulationOptions,
    *,
    fair: bool,
    tolerance: float = 0.0,
) -> SimResult:
    """Run the graph on the fabric's links, and once more with free communication."""
    capacity = fabric.topology.bandwidth_bps / 8.0
    start_s, finish_s = _play(graph, graph.duration_s, flows, capacity, fair=fair, tolerance=tolerance)
    link_bytes, hop_bytes = _carried(flows, len(capacity))
    demanded = float(hop_bytes.sum())
    sent = float(link_bytes[fabric.topology.src < fabric.topology.servers].sum())
    return SimResult(
        simulator,
        graph,
        dataclasses.replace(options, tolerance=tolerance if fair else options.tolerance),
        start_s,
        finish_s,
        compute_finish_s(graph),
        link_bytes,
        demanded,
        sent / demanded if demanded else 1.0,
        hop_bytes,
        flows.pair_hops,
    )


def compute_finish_s(graph: TaskGraph) -> Floats:
    """Return when each task would be done if communication were free, shape (tasks,)."""
    duration_s = np.where(graph.kind == COMPUTE, graph.duration_s, 0.0)
    return _play(graph, duration_s, no_flows(len(graph)), np.ones(1), fair=False)[1]


def _play(
    graph: TaskGraph,
    duration_s: Floats,
    flows: Flows,
    capacity: Floats,
    *,
    fair: bool,
    tolerance: float = 0.0,
) -> tuple[Floats, Floats]:
    start_s, finish_s, finished = kernel.run_events(
        fair,
        tolerance,
        graph.devices,
        graph.device,
        duration_s,
        graph.successor_first,
        graph.successor,
        graph.predecessors,
        flows.task_flow,
        flows.flow_class,
        flows.occupied_bytes,
        flows.before_s,
        flows.after_s,
        flows.weight,
        flows.class_first,
        flows.class_link,
        flows.class_coefficient,
        capacity,
    )
    assert finished == len(graph), "a task graph without cycles always runs to its end"
    return start_s, finish_s


def _carried(flows: Flows, links: int) -> tuple[Floats, Floats]:
    """Return payload on each link, and demanded payload by the number of links it crosses."""
    classes = len(flows.class_first) - 1
    class_bytes = sum_by(flows.flow_class, flows.payload_bytes, classes)
    entry_bytes = np.repeat(class_bytes, np.diff(flows.class_first)) * flows.class_coefficient
    return sum_by(flows.class_link, entry_bytes, links), class_bytes @ flows.class_edges
