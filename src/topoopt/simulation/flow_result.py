"""From the times of a simulation of flows to a SimResult."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.routing import Fabric
from topoopt.simulation.first_come import compute_finish_s
from topoopt.simulation.flows import Flows
from topoopt.simulation.link_classes import sum_by
from topoopt.simulation.link_classes_kernel import carry
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TaskGraph


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
