"""First come, first served: when tasks begin and end if each link serves a flow at a time, at full bandwidth."""

from weakref import WeakKeyDictionary

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.simulation.csr import owners
from topoopt.simulation.first_come_kernel import CHAINS, FlowRun, run_first_come
from topoopt.simulation.flows import Flows, no_flows
from topoopt.simulation.task_graph import COMPUTE, TaskGraph
from topoopt.simulation.task_run import task_run


def first_come_times(
    graph: TaskGraph, duration_s: Floats, flows: Flows, capacity: Floats
) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, on links of so many bytes/s."""
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
        ),
    )
    assert not np.isnan(run.finish).any(), "a task graph without cycles always runs to its end"
    return run.start, run.finish


def compute_finish_s(graph: TaskGraph) -> Floats:
    """Return when each task would be done if communication were free, shape (tasks,); the same on every fabric."""
    if graph not in _KEPT:
        duration_s = np.where(graph.kind == COMPUTE, graph.duration_s, 0.0)
        _KEPT[graph] = first_come_times(graph, duration_s, no_flows(len(graph)), np.ones(1))[1]
        _KEPT[graph].flags.writeable = False
    return _KEPT[graph]


_KEPT: WeakKeyDictionary[TaskGraph, Floats] = WeakKeyDictionary()
