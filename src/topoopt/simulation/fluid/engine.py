"""The engine of max-min sharing from outside: flows on links that stay."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.kernel import push
from topoopt.simulation.analytic.task_run import EVENTS, task_run
from topoopt.simulation.flows.flows import Flows
from topoopt.simulation.fluid.engine_kernel import BEGIN, advance
from topoopt.simulation.fluid.state import (
    MANY,
    Delays,
    Links,
    Many,
    Rounds,
    Sharing,
    State,
    make_links,
    make_many,
    make_rounds,
    make_sharing,
)
from topoopt.simulation.task_graph import TaskGraph


def first_state(graph: TaskGraph, rounds: Rounds, sharing: Sharing, many: Many | None = None) -> State:
    """Return the state before anything has begun."""
    tasks = task_run(graph, graph.duration_s, len(sharing.connection_class))
    tasks.codes[0], tasks.tally[EVENTS] = BEGIN, 1
    return State(tasks, rounds, sharing, many or make_many(0, 0, 0, 0.0))


def start_held(state: State, task: int, time_s: float) -> None:
    """Start a held network task at a time, its delay first."""
    run = state.tasks
    run.tally[EVENTS] = push(run.keys, run.codes, run.tally[EVENTS], time_s + run.duration[task], task)


def fair_times(
    graph: TaskGraph, flows: Flows, capacity: Floats, tolerance: float, slack: float
) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, with flows that share links (capacity in bytes/s) max-min fairly."""
    state, links, delays = before_flows(graph, flows, capacity, slack)
    advance(state, links, delays, np.inf, tolerance)
    assert not np.isnan(state.tasks.finish).any(), "a task graph without cycles always runs to its end"
    return state.tasks.start, state.tasks.finish


def before_flows(
    graph: TaskGraph, flows: Flows, capacity: Floats, slack: float = 0.0
) -> tuple[State, Links, Delays]:
    """Return the initial state, the links (capacity in bytes/s), and the delays of flows.

    Where there are many classes, the rate of a flow may differ from its fair share by the fraction ``slack``.
    """
    classes, one_each = len(flows.class_first) - 1, np.arange(len(flows) + 1)
    state = first_state(
        graph,
        make_rounds(flows.task_flow, one_each, np.ones(len(flows), np.int64), classes),
        make_sharing(flows.flow_class, flows.occupied_bytes, flows.weight, classes),
        make_many(classes, len(capacity), len(flows.class_link), slack) if classes >= MANY else None,
    )
    links = make_links(flows.class_first, flows.class_link, flows.class_coefficient, capacity)
    return state, links, Delays(flows.before_s, flows.after_s)
