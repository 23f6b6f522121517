"""The analytic simulator: every link serves transfers first come, first served, at full bandwidth.

No rate is shared: a transfer holds each link of its route from when it is ready and the link free, for its
bytes over the bandwidth (cut-through), and ends when the last link is done, plus the transfer law's overhead.
Fast enough for searches; equal to the flow simulator wherever nothing contends.
"""

from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.first_come import first_come_times
from topoopt.simulation.flow_result import flow_result
from topoopt.simulation.flows import Flows, make_flows
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TaskGraph


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
