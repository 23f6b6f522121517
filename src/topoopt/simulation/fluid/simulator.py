"""The flow simulator: all active transfers share links max-min fairly, event by event.

A ring is one flow over all links of its walk: the barriers between rounds keep it at the pace of its slowest
edge. Against a packet simulator the model leaves out queueing only.
"""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import entries_of
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulation.analytic.simulator import flow_result
from topoopt.simulation.flows.flows import Flows, make_flows
from topoopt.simulation.fluid.engine import fair_times
from topoopt.simulation.fluid.mltcp import weighted_times
from topoopt.simulation.fluid.reconfigurable import flow_on_circuits
from topoopt.simulation.fluid.regional import flow_on_regional_circuits
from topoopt.simulation.options import (
    COARSE_TOLERANCE,
    DEFAULT_OPTIONS,
    EXACT_CONNECTIONS,
    Report,
    SimulationOptions,
)
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COMPUTE, TaskGraph

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
        return float(options.tolerance)  # a whole number would be another type, and a kernel compiled anew
    if len(flows) <= EXACT_CONNECTIONS:
        return 0.0
    return FINE_TOLERANCE if communication_depth(graph, DEEP) == DEEP else COARSE_TOLERANCE


def communication_depth(graph: TaskGraph, enough: int) -> int:
    """Return the most communication tasks on any chain of dependencies, or ``enough`` if there are as many."""
    own = ((graph.kind != COMPUTE) & (graph.size_bytes > 0)).astype(np.int64)
    depth, waiting = own.copy(), graph.predecessors.copy()
    ready = np.flatnonzero(waiting == 0)
    deepest = 0
    while len(ready) and deepest < enough:
        deepest = max(deepest, int(depth[ready].max()))
        entry, row = entries_of(graph.successor_first, ready)
        after = graph.successor[entry]
        np.maximum.at(depth, after, depth[ready][row] + own[after])
        np.subtract.at(waiting, after, 1)
        ready = np.unique(after[waiting[after] == 0])
    return min(deepest, enough)
