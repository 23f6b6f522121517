"""The flow simulator: all active transfers share links max-min fairly, event by event.

A ring is one flow over all links of its walk: the barriers between rounds keep it at the pace of its slowest
edge. Against a packet simulator the model leaves out queueing only.
"""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints, entries_of
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulation.analytic.simulator import flow_result
from topoopt.simulation.analytic.task_run import EVENTS
from topoopt.simulation.flows.flows import Flows, make_flows
from topoopt.simulation.flows.mltcp_weight import Aggressiveness
from topoopt.simulation.fluid.engine import before_flows, fair_times
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.fluid.reconfigurable import flow_on_circuits
from topoopt.simulation.fluid.regional import flow_on_regional_circuits
from topoopt.simulation.fluid.state import ACTIVE, State
from topoopt.simulation.options import (
    COARSE_TOLERANCE,
    DEFAULT_OPTIONS,
    EXACT_CONNECTIONS,
    EXACT_SHARES,
    SHARE_TOLERANCE,
    Report,
    SimulationOptions,
)
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COMPUTE, TaskGraph

QUANTUM = 1 / 64
"""Fraction of an iteration's bytes between two changes of weights; the weights are F halfway."""
MOST_CHANGES = 16
"""Changes of weights while a quantum is sent, where events are many."""
ROUNDING = 1e-9
"""Part of an iteration's bytes that may be missing of those of the iterations before it."""


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Properties of the jobs.

    Attributes
    ----------
    of_class, share : array, shape (classes,)
        The job of a class, and the weight of each of its connections.
    total : array, shape (jobs,)
        Bytes of an iteration.
    """

    of_class: Ints
    share: Floats
    total: Floats

    def weigh(self, state: State, form: Aggressiveness) -> float:
        """Set the weights of all jobs that send; return for how long they are good."""
        sharing, count = state.sharing, len(self.total)
        active = sharing.active[: sharing.tally[ACTIVE]]
        rate = np.bincount(self.of_class[active], sharing.level[active] * sharing.weight[active], count)
        with np.errstate(divide="ignore"):
            time = float((QUANTUM * self.total / rate).min(where=rate > 0, initial=np.inf))
        assert time < np.inf, "who is active sends"
        ratio = self._ratio(state) + 0.5 * time * rate / np.maximum(self.total, 1.0)
        force = form(ratio)[self.of_class]
        sharing.weight[active] *= force[active] / sharing.force[active]
        sharing.force[:] = force
        return time

    def _ratio(self, state: State) -> Floats:
        left = np.zeros(len(self.of_class))
        bytes_left(state.sharing, left)
        sent_of_class = (state.rounds.entered - left) * self.share
        sent = np.bincount(self.of_class, sent_of_class, len(self.total)) / np.maximum(self.total, 1.0)
        return np.maximum(sent - np.floor(sent + ROUNDING), 0.0)


DEEP, FINE_TOLERANCE = 32, 1e-6
"""Number of communications that wait for each other from which the finer tolerance is used, since late handling adds
up: 192 micro-batches through 16 stages took 3.7 % longer with the coarse tolerance, and 0.02 % with the fine one."""
DEEPEST = 576
"""Depth of communications at which the tolerance of more than :data:`EXACT_SHARES` flows has fallen to the finer one;
it falls with the square of the depth from :data:`DEEP` on."""


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
    tolerance, slack = _tolerances(graph, flows, options)
    capacity = fabric.topology.bandwidth_bps / 8.0
    if options.aggressiveness is None:
        times_s = fair_times(graph, flows, capacity, tolerance, slack)
    else:
        times_s = weighted_times(graph, flows, capacity, tolerance, slack, options.aggressiveness)
    options = replace(options, tolerance=tolerance, share_tolerance=slack)
    return flow_result("flow", graph, fabric, flows, options, times_s)


def _tolerances(graph: TaskGraph, flows: Flows, options: SimulationOptions) -> tuple[float, float]:
    """Return the tolerances of times and of shares, by the number of flows where they are not given."""
    tolerance, share = options.tolerance, options.share_tolerance
    many = len(flows) > EXACT_SHARES
    if share is None:
        share = SHARE_TOLERANCE if many and tolerance is None else 0.0
    if tolerance is None and len(flows) <= EXACT_CONNECTIONS:
        tolerance = 0.0
    elif tolerance is None:
        depth = communication_depth(graph, DEEPEST if many else DEEP)
        fine = COARSE_TOLERANCE / max(depth / DEEP, 1.0) ** 2 if many else FINE_TOLERANCE
        tolerance = COARSE_TOLERANCE if depth < DEEP else fine
    # a whole number would be another type, and a kernel compiled anew
    return float(tolerance), float(share)


def communication_depth(graph: TaskGraph, enough: int) -> int:
    """Return the most communication tasks on a chain of dependencies, at most ``enough``."""
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


def weighted_times(
    graph: TaskGraph, flows: Flows, capacity: Floats, tolerance: float, slack: float, form: Aggressiveness
) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, with flows that share links (capacity in bytes/s) by weight.

    The flows of a job weigh F of the part that it has sent of its bytes in an iteration. How many these are is known:
    those of all its flows over its iterations.
    """
    state, links, delays = before_flows(graph, flows, capacity, slack)
    sharing = state.sharing
    jobs = _jobs(graph, flows)
    advance(state, links, delays, 0.0, tolerance)
    while sharing.tally[ACTIVE] > 0 or state.tasks.tally[EVENTS] > 0:
        advance(state, links, delays, _next_change(state, jobs, form), tolerance)
    assert not np.isnan(state.tasks.finish).any(), "a task graph without cycles always runs to its end"
    return state.tasks.start, state.tasks.finish


def _next_change(state: State, jobs: "_Jobs", form: Aggressiveness) -> float:
    """Set weights that are good for a while, and return until when: up to an event, which may let flows in."""
    event = float(state.tasks.keys[0]) if state.tasks.tally[EVENTS] > 0 else np.inf
    if state.sharing.tally[ACTIVE] == 0:
        return event
    now, time = float(state.sharing.clock[0]), jobs.weigh(state, form)
    return min(now + time, max(event, now + time / MOST_CHANGES))


def _jobs(graph: TaskGraph, flows: Flows) -> _Jobs:
    classes, count = len(flows.class_first) - 1, int(graph.job.max(initial=0)) + 1
    of_flow = np.repeat(graph.job, np.diff(flows.task_flow)).astype(np.int64)
    iterations = np.ones(count, np.int64)
    np.maximum.at(iterations, graph.job, graph.iteration + 1)
    of_class, share = np.zeros(classes, np.int64), np.ones(classes)
    of_class[flows.flow_class] = of_flow
    share[flows.flow_class] = flows.weight
    return _Jobs(of_class, share, np.bincount(of_flow, flows.occupied_bytes, count) / iterations)
