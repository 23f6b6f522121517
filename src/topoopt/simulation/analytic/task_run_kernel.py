"""The event loop of the analytic simulator, and the part of it that every event loop has: tasks and devices.

Codes of events: below tasks a computation or a delay ends; then, by flows, the bytes of a flow start, and those behind
it in its task that start with it; then, by flows again, the flow of a task that ends last is done.

Replicas of a model do the same at the same moments. So events that are planned one after the other, for one moment and
with rising codes, stand in the heap as one entry, a chain, with the code of its first: it is served in the same order,
and the heap is as large as there are different things going on.

The end of a communication task is known as soon as its last flow is sent, since nothing later changes it. So its
successors are notified at once, and only the last end that a task waits for becomes an event: if a task waits for
the transfers of a thousand servers, that is one event and not a thousand.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, drop_top, enqueue, inlined, push, stamp, stamped
from topoopt.simulation.analytic.task_run import DIRTY, DONE, EVENTS, READY, TaskRun

CHAINS = 64
"""Chains that may still grow: simultaneous starts send at as many moments as there are hop counts."""
ALIKE = 64
"""Most tasks that end together, more than a server has accelerators."""
UNTOLD, PLANNED, PAST = range(3)
STAMP = stamp(Path(__file__).parent.glob("task_run*.py"))


class FlowRun(NamedTuple):
    """Flows of tasks, and the time until which each link is busy.

    ========================= ============ ==================================================================
    array                     shape        meaning
    ========================= ============ ==================================================================
    task_flow                 (tasks+1,)   CSR pointer: flows of a task are consecutive
    flow_task, flow_class     (flows,)     a class is a set of links with coefficients
    flow_bytes                (flows,)     bytes for which the flow holds a link of coefficient 1
    flow_before, flow_after   (flows,)     s between readiness and first byte, and between last byte and end
    row_first                 (rows+1,)    CSR pointer into ``row_code`` and ``coefficient``
    row_code, coefficient     (entries,)   links by their codes, and bytes on each per byte of the flow
    class_row, class_turn     (classes,)   row of each class, and offset of its codes
    link_of                   (links,)     link of a code
    capacity                  (links,)     bytes/s
    free_at                   (links,)     s; when all flows that came so far are served
    to_start                  (tasks,)     flows that have not begun
    last_end, last_flow       (tasks,)     s; end of the flow that ends last so far, and which one it is
    behind                    (codes,)     the event behind one in its chain, -1: none
    newest                    (chains,)    the last event of each chain that may still grow, -1: none
    newest_s                  (chains,)    s; the moment of that chain
    heard_s                   (tasks,)     s; the latest known end of communication that a task waits for
    heard                     (tasks,)     the event of that end, -1: none is known
    told                      (tasks,)     state of the event of its communication's end: :data:`PLANNED`, :data:`PAST`
    highest                   (1,)         the highest code of the events of this moment that were served
    alike                     (ALIKE,)     flows of other tasks that share links fairly; see :func:`_send_equals`
    ========================= ============ ==================================================================
    """

    task_flow: Ints
    flow_task: Ints
    flow_class: Ints
    flow_bytes: Floats
    flow_before: Floats
    flow_after: Floats
    row_first: Ints
    row_code: Ints32
    coefficient: Floats
    class_row: Ints32
    class_turn: Ints32
    link_of: Ints32
    capacity: Floats
    free_at: Floats
    to_start: Ints
    last_end: Floats
    last_flow: Ints
    behind: Ints32
    newest: Ints
    newest_s: Floats
    heard_s: Floats
    heard: Ints32
    told: NDArray[np.int8]
    highest: Ints
    alike: Ints


@concurrent_entry
@stamped(STAMP)
def run_first_come(t: TaskRun, f: FlowRun) -> None:
    """Run the task graph once."""
    tasks, flows = len(t.device), len(f.flow_class)
    _begin_ready(t, f, 0.0)
    _run_devices(t, f, 0.0)
    moment = 0.0
    while t.tally[EVENTS] > 0:
        now = t.keys[0]
        if now > moment:
            moment, f.highest[0] = now, -1
        while t.tally[EVENTS] > 0 and t.keys[0] == now:
            code = _next_event(t, f)
            f.highest[0] = max(f.highest[0], code)
            if tasks <= code < tasks + flows:
                if f.task_flow[f.flow_task[code - tasks] + 1] - f.task_flow[f.flow_task[code - tasks]] == 1:
                    _send_equals(t, f, code - tasks, now)
                else:
                    _send_alike(t, f, code - tasks, now)
                continue
            if code < tasks:
                _end_task(t, f, code, now)
            else:
                _tell(t, f, code)
            _begin_ready(t, f, now)
        _run_devices(t, f, now)


@inlined
def _plan(t: TaskRun, f: FlowRun, time: float, code: int) -> None:
    """Add an event, to the newest chain of its moment where it continues there."""
    f.behind[code] = -1
    row = _chain(time)
    newest = f.newest[row]
    if newest >= 0 and newest < code and f.newest_s[row] == time:
        f.behind[newest] = code
    else:
        t.tally[EVENTS] = push(t.keys, t.codes, t.tally[EVENTS], time, code)
        f.newest_s[row] = time
    f.newest[row] = code


@inlined
def _chain(time: float) -> int:
    """Return the row of the chain of a moment; some moments share one."""
    return int(time * 1e12) & (CHAINS - 1)


@inlined
def _next_event(t: TaskRun, f: FlowRun) -> int:
    code: int = t.codes[0]
    now, behind, size = t.keys[0], f.behind[code], t.tally[EVENTS]
    row = _chain(now)
    if f.newest[row] == code:
        f.newest[row] = -1
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
    """Start all ready tasks: a computation joins a queue, flows open."""
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
    """Send a flow, and the next ones of its task that begin with it: no event would come between them."""
    end = f.task_flow[f.flow_task[first] + 1]
    _send(t, f, first, now)
    for flow in range(first + 1, end):
        if f.flow_before[flow] != f.flow_before[first]:
            break
        _send(t, f, flow, now)


@inlined
def _send_equals(t: TaskRun, f: FlowRun, first: int, now: float) -> None:
    """Send a flow that is a whole task, and the next tasks of this moment with as many bytes on the same links.

    They share the links fairly, so they end together: the accelerators of a server that all send to the next stage.
    """
    count, end = 1, _occupy(f, first, now)
    f.alike[0] = first
    while count < len(f.alike) and t.tally[EVENTS] > 0 and t.keys[0] == now:
        flow = t.codes[0] - len(t.device)
        if not 0 <= flow < len(f.flow_class) or not _are_equal(f, first, flow):
            break
        _next_event(t, f)
        end = max(end, _occupy(f, flow, now))
        f.alike[count] = flow
        count += 1
    for i in range(count):
        f.highest[0] = max(f.highest[0], len(t.device) + f.alike[i])
        _sent(t, f, f.alike[i], end, now)


@inlined
def _are_equal(f: FlowRun, first: int, flow: int) -> bool:
    task = f.flow_task[flow]
    return bool(
        f.flow_class[flow] == f.flow_class[first]
        and f.flow_bytes[flow] == f.flow_bytes[first]
        and f.task_flow[task + 1] - f.task_flow[task] == 1
    )


@inlined
def _send(t: TaskRun, f: FlowRun, flow: int, now: float) -> None:
    _sent(t, f, flow, _occupy(f, flow, now), now)


@inlined
def _occupy(f: FlowRun, flow: int, now: float) -> float:
    """Occupy each link of a flow from when it is free, independently; return when the last one is free again."""
    end = now
    row, turn, links = f.class_row[f.flow_class[flow]], f.class_turn[f.flow_class[flow]], len(f.link_of)
    for e in range(f.row_first[row], f.row_first[row + 1]):
        code = f.row_code[e] + turn
        m = f.link_of[code if code < links else code - links]
        f.free_at[m] = max(f.free_at[m], now) + f.flow_bytes[flow] * f.coefficient[e] / f.capacity[m]
        end = max(end, f.free_at[m])
    return end


@inlined
def _sent(t: TaskRun, f: FlowRun, flow: int, end: float, now: float) -> None:
    """Record the end of a flow; the last flow of a task ends it."""
    end += f.flow_after[flow]
    task = f.flow_task[flow]
    if end > f.last_end[task] or (end == f.last_end[task] and flow > f.last_flow[task]):
        f.last_end[task], f.last_flow[task] = end, flow
    f.to_start[task] -= 1
    if f.to_start[task] == 0:
        _foretell(t, f, task, now)


@inlined
def _foretell(t: TaskRun, f: FlowRun, task: int, now: float) -> None:
    """Pass the end of communication, now certain, to the tasks that wait for it."""
    end, code = f.last_end[task], len(t.device) + len(f.flow_class) + f.last_flow[task]
    t.finish[task] = end
    if end <= now:
        _plan_end(t, f, task, end, code)
    for e in range(t.successor_first[task], t.successor_first[task + 1]):
        other = t.successor[e]
        later = end > f.heard_s[other]
        if later or (end == f.heard_s[other] and (code > f.heard[other] or _is_past(t, f, other, now))):
            f.heard_s[other], f.heard[other] = end, code
        t.waiting[other] -= 1
        if t.waiting[other] == 0:
            _plan_end(t, f, _last_of(t, f, other), f.heard_s[other], f.heard[other])


@inlined
def _plan_end(t: TaskRun, f: FlowRun, task: int, end: float, code: int) -> None:
    """Add the end of communication as an event, if it is not one yet."""
    if f.told[task] == UNTOLD:
        f.told[task] = PLANNED
        _plan(t, f, end, code)


@inlined
def _last_of(t: TaskRun, f: FlowRun, task: int) -> int:
    """Return the predecessor with the latest known end."""
    return int(f.flow_task[f.heard[task] - len(t.device) - len(f.flow_class)])


@inlined
def _is_past(t: TaskRun, f: FlowRun, task: int, now: float) -> bool:
    """Return whether the latest end that a task knows of is past, or would be if it were an event."""
    if f.heard_s[task] != now or f.heard[task] < 0:
        return bool(f.heard_s[task] < now or f.heard[task] < 0)
    told = f.told[_last_of(t, f, task)]
    return bool(told == PAST or (told == UNTOLD and f.highest[0] > f.heard[task]))


@inlined
def _tell(t: TaskRun, f: FlowRun, code: int) -> None:
    """Mark tasks as ready whose last open predecessor ended."""
    task = f.flow_task[code - len(t.device) - len(f.flow_class)]
    f.told[task] = PAST
    for e in range(t.successor_first[task], t.successor_first[task + 1]):
        other = t.successor[e]
        if t.waiting[other] == 0 and f.heard[other] == code:
            t.ready[t.tally[READY]] = other
            t.tally[READY] += 1


@inlined
def _end_task(t: TaskRun, f: FlowRun, task: int, now: float) -> None:
    """End a computation or a delay; successors without other open predecessors become ready."""
    t.finish[task] = now
    if t.device[task] >= 0:
        t.busy[t.device[task]] = 0
        note_device(t, t.device[task])
    for e in range(t.successor_first[task], t.successor_first[task + 1]):
        other = t.successor[e]
        t.waiting[other] -= 1
        if t.waiting[other] > 0:
            continue
        if _is_past(t, f, other, now):
            t.ready[t.tally[READY]] = other
            t.tally[READY] += 1
        else:
            _plan_end(t, f, _last_of(t, f, other), f.heard_s[other], f.heard[other])


@compiled
def schedule(t: TaskRun, time: float, code: int) -> None:
    """Add an event."""
    t.tally[EVENTS] = push(t.keys, t.codes, t.tally[EVENTS], time, code)


@compiled
def next_event(t: TaskRun) -> int:
    """Pop the first event and return its code."""
    code: int = t.codes[0]
    t.tally[EVENTS] = drop_top(t.keys, t.codes, t.tally[EVENTS])
    return code


@compiled
def queue_for_device(t: TaskRun, task: int, now: float) -> None:
    """Enqueue a ready compute task for its device."""
    enqueue(task, t.device[task], now, t.start, t.head, t.tail, t.after)
    note_device(t, t.device[task])


@compiled
def note_device(t: TaskRun, device: int) -> None:
    """Record that a device may start a task."""
    if t.is_dirty[device] == 0:
        t.is_dirty[device] = 1
        t.dirty[t.tally[DIRTY]] = device
        t.tally[DIRTY] += 1


@compiled
def run_devices(t: TaskRun, now: float) -> None:
    """Start the first queued task of every idle device that may start one."""
    for i in range(t.tally[DIRTY]):
        task = start_next(t, t.dirty[i], now)
        if task >= 0:
            schedule(t, now + t.duration[task], task)
    t.tally[DIRTY] = 0


@compiled
def start_next(t: TaskRun, device: int, now: float) -> int:
    """Start the first queued task of a noted device and return it; -1 if the device is busy, or nothing is queued."""
    t.is_dirty[device] = 0
    task: int = t.head[device]
    if t.busy[device] == 1 or task < 0:
        return -1
    t.head[device] = t.after[task]
    if t.head[device] < 0:
        t.tail[device] = -1
    t.busy[device] = 1
    t.start[task] = now
    return task


@compiled
def end_task(t: TaskRun, task: int, now: float) -> None:
    """End a task: its device is free, and successors without other open predecessors become ready."""
    t.finish[task] = now
    t.tally[DONE] += 1
    if t.device[task] >= 0:
        t.busy[t.device[task]] = 0
        note_device(t, t.device[task])
    for e in range(t.successor_first[task], t.successor_first[task + 1]):
        other = t.successor[e]
        t.waiting[other] -= 1
        if t.waiting[other] == 0:
            t.ready[t.tally[READY]] = other
            t.tally[READY] += 1
