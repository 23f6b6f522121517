"""The event loop of the analytic simulator: links serve flows first come, first served.

Codes of events: below tasks a computation or a delay ends; then, by flows, the bytes of a flow start, and those behind
it in its task that start with it; then, by flows again, the flow of a task that ends last is done.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.kernel import compiled, entry, stamp
from topoopt.simulate.task_run import EVENTS, READY, TaskRun
from topoopt.simulate.task_run_kernel import end_task, next_event, queue_for_device, run_devices, schedule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STAMP = stamp(Path(__file__).parent.glob("task_run*.py"))


class FlowRun(NamedTuple):
    """Flows of tasks, and until when each link is taken.

    ========================= ============ ==================================================================
    array                     shape        meaning
    ========================= ============ ==================================================================
    task_flow                 (tasks+1,)   CSR pointer: flows of a task are consecutive
    flow_task, flow_class     (flows,)     a class is a set of links with coefficients
    flow_bytes                (flows,)     bytes for which the flow holds a link of coefficient 1
    flow_before, flow_after   (flows,)     s between readiness and first byte, and between last byte and end
    class_first               (classes+1,) CSR pointer into ``class_link`` and ``coefficient``
    class_link, coefficient   (entries,)   links, and bytes on each per byte of the flow
    capacity                  (links,)     bytes/s
    free_at                   (links,)     s; when all flows that came so far are served
    to_start                  (tasks,)     flows that have not begun
    last_end, last_flow       (tasks,)     s; end of the flow that ends last so far, and which one it is
    ========================= ============ ==================================================================
    """

    task_flow: Ints
    flow_task: Ints
    flow_class: Ints
    flow_bytes: Floats
    flow_before: Floats
    flow_after: Floats
    class_first: Ints
    class_link: Ints
    coefficient: Floats
    capacity: Floats
    free_at: Floats
    to_start: Ints
    last_end: Floats
    last_flow: Ints


@entry
def run_first_come(t: TaskRun, f: FlowRun, stamp: int = STAMP) -> None:
    """Run the task graph once."""
    tasks, flows = len(t.device), len(f.flow_class)
    _begin_ready(t, f, 0.0)
    run_devices(t, 0.0)
    while t.tally[EVENTS] > 0:
        now = t.keys[0]
        while t.tally[EVENTS] > 0 and t.keys[0] == now:
            code = next_event(t)
            if tasks <= code < tasks + flows:
                _send_alike(t, f, code - tasks, now)
            else:
                end_task(t, code if code < tasks else f.flow_task[code - tasks - flows], now)
                _begin_ready(t, f, now)
        run_devices(t, now)


@compiled
def _begin_ready(t: TaskRun, f: FlowRun, now: float) -> None:
    """Let all that has become ready begin: a computation joins a queue, flows open."""
    for i in range(t.tally[READY]):
        task = t.ready[i]
        t.start[task] = now
        if t.device[task] >= 0:
            queue_for_device(t, task, now)
            continue
        begin = now + t.duration[task]
        if f.to_start[task] == 0:
            schedule(t, begin, task)
        first = f.task_flow[task]
        for flow in range(first, f.task_flow[task + 1]):
            if flow == first or f.flow_before[flow] != f.flow_before[flow - 1]:
                schedule(t, begin + f.flow_before[flow], len(t.device) + flow)
    t.tally[READY] = 0


@compiled
def _send_alike(t: TaskRun, f: FlowRun, first: int, now: float) -> None:
    """Send a flow, and those of its task behind it that begin with it: no event would come between them."""
    end = f.task_flow[f.flow_task[first] + 1]
    _send(t, f, first, now)
    for flow in range(first + 1, end):
        if f.flow_before[flow] != f.flow_before[first]:
            break
        _send(t, f, flow, now)


@compiled
def _send(t: TaskRun, f: FlowRun, flow: int, now: float) -> None:
    """Let a flow hold each of its links, independently, from when it is free; the last flow of a task ends it."""
    end = now
    for e in range(f.class_first[f.flow_class[flow]], f.class_first[f.flow_class[flow] + 1]):
        m = f.class_link[e]
        f.free_at[m] = max(f.free_at[m], now) + f.flow_bytes[flow] * f.coefficient[e] / f.capacity[m]
        end = max(end, f.free_at[m])
    end += f.flow_after[flow]
    task = f.flow_task[flow]
    if end > f.last_end[task] or (end == f.last_end[task] and flow > f.last_flow[task]):
        f.last_end[task], f.last_flow[task] = end, flow
    f.to_start[task] -= 1
    if f.to_start[task] == 0:
        schedule(t, f.last_end[task], len(t.device) + len(f.flow_class) + f.last_flow[task])
