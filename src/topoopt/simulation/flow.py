"""The flow simulator: all active transfers share links max-min fairly, event by event.

A ring is one flow over all links of its walk: the barriers between rounds keep it at the pace of its slowest
edge. Against a packet simulator the model leaves out queueing only.
"""

from dataclasses import replace

from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulation.communication_depth import communication_depth
from topoopt.simulation.flow_result import flow_result
from topoopt.simulation.flows import Flows, make_flows
from topoopt.simulation.fluid.engine import fair_times
from topoopt.simulation.fluid.weighted import weighted_times
from topoopt.simulation.options import COARSE_TOLERANCE, DEFAULT_OPTIONS, EXACT_CONNECTIONS, SimulationOptions
from topoopt.simulation.reconfigurable.run import flow_on_circuits
from topoopt.simulation.regional.run import flow_on_regional_circuits
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TaskGraph

DEEP, FINE_TOLERANCE = 32, 1e-6
"""Where so many communications wait for each other, what is handled late adds up: 192 micro-batches through 16
stages took 3.7 % longer with the coarse tolerance, and 0.02 % with the fine one."""


def flow(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> SimResult:
    """Simulate with max-min fair rates; see :class:`topoopt.simulation.Simulator`."""
    if fabric.reconfiguration is not None:
        if options.aggressiveness is not None:
            raise InvalidInput("sharing mltcp: is for links that stay; take a fabric without reconfiguration")
        regional = isinstance(fabric.reconfiguration, RegionalReconfiguration)
        on_circuits = flow_on_regional_circuits if regional else flow_on_circuits
        return on_circuits(graph, fabric, options, on_progress)
    flows = make_flows(graph, fabric, options)
    tolerance = _tolerance(graph, flows, options)
    capacity = fabric.topology.bandwidth_bps / 8.0
    if options.aggressiveness is None:
        times_s = fair_times(graph, flows, capacity, tolerance)
    else:
        times_s = weighted_times(graph, flows, capacity, tolerance, options.aggressiveness)
    return flow_result("flow", graph, fabric, flows, replace(options, tolerance=tolerance), times_s)


def _tolerance(graph: TaskGraph, flows: Flows, options: SimulationOptions) -> float:
    if options.tolerance is not None:
        return options.tolerance
    if len(flows) <= EXACT_CONNECTIONS:
        return 0.0
    return FINE_TOLERANCE if communication_depth(graph, DEEP) == DEEP else COARSE_TOLERANCE
