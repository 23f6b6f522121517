"""Whether anything contends: two transfers that would use one link at the same time."""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.csr import entries_of, owners
from topoopt.simulation.flows import Flows
from topoopt.simulation.task_graph import TaskGraph

ROUNDING = 1e-12
"""Relative distance below which the end of one transfer and the beginning of the next are one moment."""


def contends(graph: TaskGraph, flows: Flows, start_s: Floats, capacity: Floats) -> bool:
    """Return whether any link is part of two flows at the same time.

    Every flow holds all links of its paths from when it opens its connection until its last byte is in, for as
    long as it would take alone. Nothing contends exactly if no two of these stretches on one link overlap. Then
    no transfer ever waits or shares, not even the packet that opens a connection, and first come, first served,
    fair shares and packets give the same times.

    Parameters
    ----------
    start_s : float64 array, shape (tasks,)
        When each task was ready in a run of the analytic simulator. If transfers waited in it, they overlap here.
    capacity : float64 array, shape (links,)
        Bytes per second.
    """
    link, begin, end = _stretches(graph, flows, start_s, capacity)
    order = np.lexsort((begin, link))
    link, begin, end = link[order], begin[order], end[order]
    # sorted by begin, any overlap on a link shows between two neighbors
    overlap = (link[1:] == link[:-1]) & (begin[1:] < end[:-1] * (1 - ROUNDING))
    return bool(overlap.any())


def alone_s(flows: Flows, capacity: Floats) -> Floats:
    """Return for how long each flow's bytes hold its slowest link if nothing else moves, shape (flows,)."""
    entry_s = flows.class_coefficient / capacity[flows.class_link]
    classes = len(flows.class_first) - 1
    slowest = np.zeros(classes)
    np.maximum.at(slowest, owners(flows.class_first), entry_s)
    return flows.occupied_bytes * slowest[flows.flow_class]


def _stretches(
    graph: TaskGraph, flows: Flows, start_s: Floats, capacity: Floats
) -> tuple[Ints, Floats, Floats]:
    """Return link, begin and end of every stretch."""
    task = owners(flows.task_flow)
    begin = start_s[task] + graph.duration_s[task]
    end = begin + flows.before_s + alone_s(flows, capacity) + flows.after_s
    entry, flow = entries_of(flows.class_first, flows.flow_class)
    return flows.class_link[entry].astype(np.int64), begin[flow], end[flow]
