"""The event loop of the analytic simulator: links serve flows first come, first served.

Codes of events: below tasks a computation or a delay ends; then, by flows, the bytes of a flow start, and those behind
it in its task that start with it; then, by flows again, the flow of a task that ends last is done.

Replicas of a model do the same at the same moments. So events that are planned one after the other, for one moment and
with rising codes, stand in the heap as one entry, a chain, with the code of its first: it is served in the same order,
and the heap is as large as there are different things going on.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.kernel import concurrent_entry, drop_top, inlined, push, stamp
from topoopt.simulate.task_run import DIRTY, EVENTS, READY, TaskRun
from topoopt.simulate.task_run_kernel import end_task, queue_for_device, start_next

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
    behind                    (codes,)     the event behind one in its chain, -1: none
    newest                    (1,)         the last event of the chain that may still grow, -1: none
    newest_s                  (1,)         s; the moment of that chain
    ========================= ============ ==================================================================
    """

    task_flow: Ints
    flow_task: Ints
    flow_class: Ints
    flow_bytes: Floats
    flow_before: Floats
    flow_after: Floats
    class_first: Ints
    class_link: NDArray[np.int32]
    coefficient: Floats
    capacity: Floats
    free_at: Floats
    to_start: Ints
    last_end: Floats
    last_flow: Ints
    behind: NDArray[np.int32]
    newest: Ints
    newest_s: Floats


@concurrent_entry
def run_first_come(t: TaskRun, f: FlowRun, stamp: int = STAMP) -> None:
    """Run the task graph once."""
    tasks, flows = len(t.device), len(f.flow_class)
    _begin_ready(t, f, 0.0)
    _run_devices(t, f, 0.0)
    while t.tally[EVENTS] > 0:
        now = t.keys[0]
        while t.tally[EVENTS] > 0 and t.keys[0] == now:
            code = _next_event(t, f)
            if tasks <= code < tasks + flows:
                _send_alike(t, f, code - tasks, now)
            else:
                end_task(t, code if code < tasks else f.flow_task[code - tasks - flows], now)
                _begin_ready(t, f, now)
        _run_devices(t, f, now)


@inlined
def _plan(t: TaskRun, f: FlowRun, time: float, code: int) -> None:
    """Add an event, to the newest chain where it goes on there."""
    f.behind[code] = -1
    newest = f.newest[0]
    if newest >= 0 and newest < code and f.newest_s[0] == time:
        f.behind[newest] = code
    else:
        t.tally[EVENTS] = push(t.keys, t.codes, t.tally[EVENTS], time, code)
        f.newest_s[0] = time
    f.newest[0] = code


@inlined
def _next_event(t: TaskRun, f: FlowRun) -> int:
    """Take the first event out and return its code."""
    code: int = t.codes[0]
    now, behind, size = t.keys[0], f.behind[code], t.tally[EVENTS]
    if f.newest[0] == code:
        f.newest[0] = -1
    if behind < 0:
        t.tally[EVENTS] = drop_top(t.keys, t.codes, size)
        return code
    t.codes[0] = behind
    for child in range(1, min(size, 3)):
        if t.keys[child] == now and t.codes[child] < behind:  # then the chain is not the first any more
            push(t.keys, t.codes, drop_top(t.keys, t.codes, size), now, behind)
            break
    return code


@inlined
def _run_devices(t: TaskRun, f: FlowRun, now: float) -> None:
    """Start the first queued task of every idle device that may start one."""
    for i in range(t.tally[DIRTY]):
        task = start_next(t, t.dirty[i], now)
        if task >= 0:
            _plan(t, f, now + t.duration[task], task)
    t.tally[DIRTY] = 0


@inlined
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
            _plan(t, f, begin, task)
        first = f.task_flow[task]
        for flow in range(first, f.task_flow[task + 1]):
            if flow == first or f.flow_before[flow] != f.flow_before[flow - 1]:
                _plan(t, f, begin + f.flow_before[flow], len(t.device) + flow)
    t.tally[READY] = 0


@inlined
def _send_alike(t: TaskRun, f: FlowRun, first: int, now: float) -> None:
    """Send a flow, and those of its task behind it that begin with it: no event would come between them."""
    end = f.task_flow[f.flow_task[first] + 1]
    _send(t, f, first, now)
    for flow in range(first + 1, end):
        if f.flow_before[flow] != f.flow_before[first]:
            break
        _send(t, f, flow, now)


@inlined
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
        _plan(t, f, f.last_end[task], len(t.device) + len(f.flow_class) + f.last_flow[task])
