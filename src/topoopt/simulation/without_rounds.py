"""An iteration without what bandwidth cannot remove: no latency, no connections, no packets to be filled.

What is left are the bytes that links really carry, first come, first served, in the same order of tasks. The difference
to the analytic simulation is the price of many small messages: of each round of a ring, hop of a path, bias of a layer.
"""

from dataclasses import replace

import numpy as np

from topoopt.routing import Fabric
from topoopt.simulation.first_come import first_come_times
from topoopt.simulation.flows import Flows
from topoopt.simulation.result import steady_state_time_s
from topoopt.simulation.task_graph import TaskGraph


def time_without_rounds_s(graph: TaskGraph, fabric: Fabric, flows: Flows) -> float:
    """Return the seconds of an iteration whose messages cost nothing but their bytes; ``flows`` are the graph's."""
    none = np.zeros(len(flows))
    plain = replace(flows, before_s=none, after_s=none, occupied_bytes=flows.payload_bytes)
    _, finish_s = first_come_times(graph, graph.duration_s, plain, fabric.topology.bandwidth_bps / 8.0)
    return steady_state_time_s(graph, finish_s)
