"""Flows of several jobs, each weighed by MLTCP's F of the bytes that its job has sent in its iteration."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.analytic.task_run import EVENTS
from topoopt.simulation.flows.flows import Flows
from topoopt.simulation.flows.mltcp_weight import Aggressiveness
from topoopt.simulation.fluid.engine import before_flows
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.fluid.state import ACTIVE, State
from topoopt.simulation.task_graph import TaskGraph

QUANTUM = 1 / 64
"""Of an iteration's bytes, between two changes of weights; these are F halfway."""
MOST_CHANGES = 16
"""Changes of weights while a quantum is sent, where events are many."""
ROUNDING = 1e-9
"""Part of an iteration's bytes that may be missing of those of the iterations before it."""


def weighted_times(
    graph: TaskGraph, flows: Flows, capacity: Floats, tolerance: float, form: Aggressiveness
) -> tuple[Floats, Floats]:
    """Return start and finish of every task, in s, on links of so many bytes/s that flows share by weight.

    The flows of a job weigh F of the part that it has sent of its bytes in an iteration. How many these are is known:
    those of all its flows over its iterations.
    """
    state, links, delays = before_flows(graph, flows, capacity)
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


@dataclass(frozen=True, slots=True)
class _Jobs:
    """What is known of the jobs.

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
        """Return the part of its iteration's bytes that each job has sent."""
        left = np.zeros(len(self.of_class))
        bytes_left(state.sharing, left)
        sent_of_class = (state.rounds.entered - left) * self.share
        sent = np.bincount(self.of_class, sent_of_class, len(self.total)) / np.maximum(self.total, 1.0)
        return np.maximum(sent - np.floor(sent + ROUNDING), 0.0)


def _jobs(graph: TaskGraph, flows: Flows) -> _Jobs:
    classes, count = len(flows.class_first) - 1, int(graph.job.max(initial=0)) + 1
    of_flow = np.repeat(graph.job, np.diff(flows.task_flow)).astype(np.int64)
    iterations = np.ones(count, np.int64)
    np.maximum.at(iterations, graph.job, graph.iteration + 1)
    of_class, share = np.zeros(classes, np.int64), np.ones(classes)
    of_class[flows.flow_class] = of_flow
    share[flows.flow_class] = flows.weight
    return _Jobs(of_class, share, np.bincount(of_flow, flows.occupied_bytes, count) / iterations)
