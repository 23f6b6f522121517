"""The engine of max-min sharing from outside: flows on links that stay, and their rates at one moment."""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.kernel import push
from topoopt.simulation.analytic.task_run import EVENTS, task_run
from topoopt.simulation.flows.flows import Flows
from topoopt.simulation.fluid.engine_kernel import BEGIN, advance, max_min_levels
from topoopt.simulation.fluid.state import (
    ACTIVE,
    Delays,
    Links,
    Rounds,
    Sharing,
    State,
    make_links,
    make_rounds,
    make_sharing,
)
from topoopt.simulation.task_graph import TaskGraph


def max_min_rates(
    capacity: NDArray[np.float64],
    flow_first: NDArray[np.int64],
    flow_link: NDArray[np.int64],
    coefficient: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the rate of each flow, shape (flows,), in the unit of ``capacity``.

    No flow's rate per weight can rise without lowering that of a flow with an equal or smaller one.

    Parameters
    ----------
    capacity : shape (links,), positive
    flow_first, flow_link, coefficient : shapes (flows+1,), (entries,), (entries,)
        Flow k sends ``coefficient[e]`` bytes over link ``flow_link[e]`` per byte of its own, for e in
        ``flow_first[k] : flow_first[k+1]``; it must use at least one link.
    weight : shape (flows,), positive

    References
    ----------
    .. [1] D. Bertsekas, R. Gallager, "Data Networks", section 6.5.2 (progressive filling).

    Examples
    --------
    >>> two_links = np.array([10.0, 4.0])
    >>> first, link = np.array([0, 1, 3]), np.array([0, 0, 1])
    >>> max_min_rates(two_links, first, link, np.ones(3), np.ones(2)).tolist()
    [6.0, 4.0]
    """
    flows = len(weight)
    if (np.diff(flow_first) < 1).any():
        raise InvalidInput("max-min rates: every flow must use at least one link")
    for name, values in (("capacity", capacity), ("coefficient", coefficient), ("weight", weight)):
        if (np.asarray(values) <= 0).any():
            raise InvalidInput(f"max-min rates: {name} must be positive, got {np.min(values)}")
    none, weights = np.zeros(0), np.ascontiguousarray(weight, np.float64)
    sharing = make_sharing(np.zeros(0, np.int64), none, none, flows)
    sharing.active[:], sharing.tally[ACTIVE], sharing.weight[:] = np.arange(flows), flows, weights
    max_min_levels(
        sharing,
        make_links(
            np.ascontiguousarray(flow_first, np.int64),
            np.ascontiguousarray(flow_link, np.int64),
            np.ascontiguousarray(coefficient, np.float64),
            np.ascontiguousarray(capacity, np.float64),
        ),
    )
    return sharing.level * weights


def first_state(graph: TaskGraph, rounds: Rounds, sharing: Sharing) -> State:
    """Return the state before anything has begun."""
    tasks = task_run(graph, graph.duration_s, len(sharing.connection_class))
    tasks.codes[0], tasks.tally[EVENTS] = BEGIN, 1
    return State(tasks, rounds, sharing)


def start_held(state: State, task: int, time_s: float) -> None:
    """Start a held network task at a time, its delay first."""
    run = state.tasks
    run.tally[EVENTS] = push(run.keys, run.codes, run.tally[EVENTS], time_s + run.duration[task], task)


def fair_times(graph: TaskGraph, flows: Flows, capacity: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, with flows that share links (capacity in bytes/s) max-min fairly."""
    state, links, delays = before_flows(graph, flows, capacity)
    advance(state, links, delays, np.inf, tolerance)
    assert not np.isnan(state.tasks.finish).any(), "a task graph without cycles always runs to its end"
    return state.tasks.start, state.tasks.finish


def before_flows(graph: TaskGraph, flows: Flows, capacity: Floats) -> tuple[State, Links, Delays]:
    """Return the initial state, the links (capacity in bytes/s), and the delays of flows."""
    classes, one_each = len(flows.class_first) - 1, np.arange(len(flows) + 1)
    state = first_state(
        graph,
        make_rounds(flows.task_flow, one_each, np.ones(len(flows), np.int64), classes),
        make_sharing(flows.flow_class, flows.occupied_bytes, flows.weight, classes),
    )
    links = make_links(flows.class_first, flows.class_link, flows.class_coefficient, capacity)
    return state, links, Delays(flows.before_s, flows.after_s)
