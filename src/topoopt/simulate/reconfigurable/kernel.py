"""The event loop of flows on circuits that change: it stops when a change begins, and goes on with other circuits.

Arrays of the state (int64 or float64). A *stream* is rounds of equal connections, one along each of its edges;
an *edge* has one connection at a time and belongs to an ordered *pair* of servers, which has routes or waits.

================ ======= ============== ==============================================================
name             dtype   shape          meaning
================ ======= ============== ==============================================================
device           int64   (tasks,)       of a compute task, -1 for communication
duration         float64 (tasks,)       s; of communication: the delay before it
successor_first  int64   (tasks+1,)     CSR pointer into ``successor``
successor        int64   (edges,)       tasks that wait for a task
waiting          int64   (tasks,)       predecessors that a task still waits for
task_stream      int64   (tasks+1,)     streams of each task
open_streams     int64   (tasks,)       of them not done, once the delay is over
start, finish    float64 (tasks,)       s
after            int64   (tasks,)       the next in the queue of its device
head, tail, busy int64   (devices,)     queue of each device, and whether it computes
dirty, is_dirty  int64   (devices,)     devices that may start a task
stream_task      int64   (streams,)
edge_first       int64   (streams+1,)   edges of each stream
rounds_left      int64   (streams,)     rounds that have not begun
open_edges       int64   (streams,)     connections of the present round not done
stream_bytes     float64 (streams,)     bytes of a connection, in whole packets
edge_stream      int64   (edges,)
edge_pair        int64   (edges,)
ends_at          float64 (edges,)       value of the pair's ``served`` at which the connection is done
next_edge        int64   (edges,)       the pair's next connection in this order
first_edge       int64   (pairs,)       its first, -1 for none
served           float64 (pairs,)       bytes that each of the pair's connections got since it became active
connections      float64 (pairs,)       with bytes to send
level            float64 (pairs,)       bytes/s of each
entered          float64 (pairs,)       bytes of all connections so far
opening          float64 (pairs,)       bytes of those that are being opened
active           int64   (pairs,)       pairs with connections; the first ``tally[ACTIVE]``
entering         int64   (edges,)       scratch
running          int64   (pairs,)       scratch
keys, codes      f8, i8  (events,)      heap of events by (time, code)
watch            int64   (tasks,)       ``HOLD``, ``REPORT``, both or neither (0)
stops            int64   (2 tasks,)     watched tasks that have become ready or are done, see ``tally[STOPS]``
tally            int64   (5,)           see ``ACTIVE``, ``EVENTS``, ``DONE``, ``DIRTY``, ``STOPS``
clock            float64 (1,)           s until when ``served`` is right
================ ======= ============== ==============================================================

The loop stops when a watched task becomes ready (``HOLD``), which then begins at :func:`start_held` only, or is done
(``REPORT``).

Codes of events: below tasks a compute task ends or a delay is over; then, by edges, a connection's first byte
leaves; then, by edges again, a connection is done.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topoopt.kernel import drop_top, enqueue, push
from topoopt.simulate.kernel import (
    NEVER,
    TIE,
    _mark,
    _run_devices,
    max_min_levels,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ACTIVE, EVENTS, DONE, DIRTY, STOPS = range(5)
HOLD, REPORT = 1, 2


class State(NamedTuple):
    """Everything the loop knows between two events."""

    device: Ints
    duration: Floats
    successor_first: Ints
    successor: Ints
    waiting: Ints
    task_stream: Ints
    open_streams: Ints
    start: Floats
    finish: Floats
    after: Ints
    head: Ints
    tail: Ints
    busy: Ints
    dirty: Ints
    is_dirty: Ints
    stream_task: Ints
    edge_first: Ints
    rounds_left: Ints
    open_edges: Ints
    stream_bytes: Floats
    edge_stream: Ints
    edge_pair: Ints
    ends_at: Floats
    next_edge: Ints
    first_edge: Ints
    served: Floats
    connections: Floats
    level: Floats
    entered: Floats
    opening: Floats
    active: Ints
    entering: Ints
    running: Ints
    keys: Floats
    codes: Ints
    watch: Ints
    stops: Ints
    tally: Ints
    clock: Floats


class Network(NamedTuple):
    """What the circuits of the moment give each pair.

    ``link_first`` (pairs+1,) points into ``link`` and ``coefficient``, the links of a pair and its bytes on each
    per byte sent; none while a pair waits. ``capacity`` (links,) is in bytes/s, ``before`` and ``after`` (pairs,)
    are the s between opening and the first byte, and between the last byte and the end.
    """

    link_first: Ints
    link: Ints
    coefficient: Floats
    capacity: Floats
    before: Floats
    after: Floats


@njit(cache=True)
def _schedule(s: State, time: float, code: int) -> None:
    s.tally[EVENTS] = push(s.keys, s.codes, s.tally[EVENTS], time, code)


@njit(cache=True)
def _stop(s: State, task: int, reason: int) -> bool:
    """Make the loop stop for a task that is watched for a reason; return whether it is."""
    if s.watch[task] & reason == 0:
        return False
    s.stops[s.tally[STOPS]] = task
    s.tally[STOPS] += 1
    return True


@njit(cache=True)
def start_held(s: State, task: int, time: float) -> None:
    """Let a task of the network that was held begin at a time, its delay first."""
    _schedule(s, time + s.duration[task], task)


@njit(cache=True)
def _release(s: State, task: int, now: float) -> None:
    """Make a task ready: a delay begins, it joins the queue of its device, or it is held."""
    s.start[task] = now
    if _stop(s, task, HOLD):
        return
    device = s.device[task]
    if device < 0:
        _schedule(s, now + s.duration[task], task)
        return
    enqueue(task, device, now, s.start, s.head, s.tail, s.after)
    s.tally[DIRTY] = _mark(device, s.dirty, s.tally[DIRTY], s.is_dirty)


@njit(cache=True)
def _run_dirty(s: State, now: float) -> None:
    """Start the first task in the queue of every device that may have become idle."""
    s.tally[EVENTS] = _run_devices(
        now, s.dirty, s.tally[DIRTY], s.is_dirty, s.busy, s.head, s.tail, s.after, s.start, s.duration,
        s.keys, s.codes, s.tally[EVENTS],
    )  # fmt: skip
    s.tally[DIRTY] = 0


@njit(cache=True)
def _open_round(s: State, net: Network, stream: int, now: float) -> None:
    """Open a connection along each edge of a stream."""
    tasks = len(s.device)
    s.rounds_left[stream] -= 1
    s.open_edges[stream] = s.edge_first[stream + 1] - s.edge_first[stream]
    for edge in range(s.edge_first[stream], s.edge_first[stream + 1]):
        pair = s.edge_pair[edge]
        s.opening[pair] += s.stream_bytes[stream]
        _schedule(s, now + net.before[pair], tasks + edge)


@njit(cache=True)
def _finish(s: State, task: int, now: float) -> None:
    """End a task and make ready what waited for it."""
    s.finish[task] = now
    s.tally[DONE] += 1
    _stop(s, task, REPORT)
    for e in range(s.successor_first[task], s.successor_first[task + 1]):
        other = s.successor[e]
        s.waiting[other] -= 1
        if s.waiting[other] == 0:
            _release(s, other, now)


@njit(cache=True)
def _handle(s: State, net: Network, code: int, now: float) -> None:
    """Handle the end of a compute task, of a delay or of a connection."""
    tasks = len(s.device)
    done = -1
    first, last = 0, 0  # streams whose next round begins
    if code < tasks:
        first, last = s.task_stream[code], s.task_stream[code + 1]
        s.open_streams[code] = last - first
        if first == last:
            done = code
        if s.device[code] >= 0:
            s.busy[s.device[code]] = 0
            s.tally[DIRTY] = _mark(s.device[code], s.dirty, s.tally[DIRTY], s.is_dirty)
    else:
        stream = s.edge_stream[code - tasks - len(s.edge_pair)]
        task = s.stream_task[stream]
        s.open_edges[stream] -= 1
        if s.open_edges[stream] == 0:
            if s.rounds_left[stream] > 0:
                first, last = stream, stream + 1
            else:
                s.open_streams[task] -= 1
                if s.open_streams[task] == 0:
                    done = task
    for stream in range(first, last):
        _open_round(s, net, stream, now)
    if done >= 0:
        _finish(s, done, now)


@njit(cache=True)
def _enter(s: State, edge: int) -> None:
    """Put a connection among those of its pair, in the order in which they will be done."""
    pair, size = s.edge_pair[edge], s.stream_bytes[s.edge_stream[edge]]
    if s.first_edge[pair] < 0:
        s.active[s.tally[ACTIVE]] = pair
        s.tally[ACTIVE] += 1
        s.served[pair] = 0.0
    s.opening[pair] -= size
    s.entered[pair] += size
    s.connections[pair] += 1.0
    s.ends_at[edge] = s.served[pair] + size
    before, here = -1, s.first_edge[pair]
    while here >= 0 and s.ends_at[here] <= s.ends_at[edge]:
        before, here = here, s.next_edge[here]
    s.next_edge[edge] = here
    if before < 0:
        s.first_edge[pair] = edge
    else:
        s.next_edge[before] = edge


@njit(cache=True)
def _share(s: State, net: Network) -> float:
    """Set the fair rates of all active pairs, 0 for those that wait; return when the first connection is done."""
    running = 0
    for i in range(s.tally[ACTIVE]):
        pair = s.active[i]
        s.level[pair] = 0.0
        if net.link_first[pair] < net.link_first[pair + 1]:
            s.running[running] = pair
            running += 1
    if running == 0:
        return NEVER
    max_min_levels(
        running, s.running, net.link_first, net.link, net.coefficient, s.connections, net.capacity, s.level
    )
    next_end = NEVER
    for i in range(running):
        pair = s.running[i]
        left = max(s.ends_at[s.first_edge[pair]] - s.served[pair], 0.0)
        next_end = min(next_end, s.clock[0] + left / s.level[pair])
    return next_end


@njit(cache=True)
def _end_until(s: State, net: Network, horizon: float) -> None:
    """Take out the connections that are done by then, each at its own time."""
    tasks, edges = len(s.device), len(s.edge_pair)
    limit = horizon + TIE * horizon
    for i in range(s.tally[ACTIVE]):
        pair = s.active[i]
        while s.first_edge[pair] >= 0 and s.level[pair] > 0.0:
            edge = s.first_edge[pair]
            end = s.clock[0] + (s.ends_at[edge] - s.served[pair]) / s.level[pair]
            if end > limit:
                break
            s.first_edge[pair] = s.next_edge[edge]
            s.connections[pair] -= 1.0
            _schedule(s, max(end, s.clock[0]) + net.after[pair], tasks + edges + edge)


@njit(cache=True)
def _serve_until(s: State, horizon: float) -> None:
    """Serve all active pairs up to then; those without connections are active no more."""
    kept = 0
    for i in range(s.tally[ACTIVE]):
        pair = s.active[i]
        s.served[pair] += s.level[pair] * (horizon - s.clock[0])
        if s.first_edge[pair] >= 0:
            s.active[kept] = pair
            kept += 1
    s.tally[ACTIVE] = kept
    s.clock[0] = horizon


@njit(cache=True)
def advance(s: State, net: Network, until: float, tolerance: float) -> None:
    """Serve all events up to and with ``until`` at max-min fair rates, or up to a watched task's.

    What happens within ``tolerance`` × now after a change of rates is handled with it.
    """
    tasks, edges = len(s.device), len(s.edge_pair)
    next_end = _share(s, net)
    while True:
        now = s.keys[0] if s.tally[EVENTS] > 0 else NEVER
        if min(now, next_end) > until or min(now, next_end) == NEVER:
            break
        changed = next_end <= now
        horizon = min(next_end * (1.0 + tolerance), until) if changed else now
        if changed:
            _end_until(s, net, horizon)
        entering = 0
        while s.tally[EVENTS] > 0 and s.keys[0] <= horizon:
            now = s.keys[0]
            while s.tally[EVENTS] > 0 and s.keys[0] == now:
                code = s.codes[0]
                s.tally[EVENTS] = drop_top(s.keys, s.codes, s.tally[EVENTS])
                if code < tasks or code >= tasks + edges:
                    _handle(s, net, code, now)
                    continue
                s.entering[entering] = code - tasks
                entering += 1
                if not changed:
                    changed = True
                    horizon = min(now * (1.0 + tolerance), next_end, until)
            _run_dirty(s, now)
        if changed:
            _serve_until(s, horizon)
            for i in range(entering):
                _enter(s, s.entering[i])
            next_end = _share(s, net)
        if s.tally[STOPS] > 0:
            if s.clock[0] < now:
                _serve_until(s, now)
            return
    if until < NEVER and s.clock[0] < until:
        _serve_until(s, until)


@njit(cache=True)
def bytes_left(s: State, left: Floats) -> None:
    """Set the bytes that each pair's connections, shape (pairs,), have still to send."""
    left[:] = 0.0
    for i in range(s.tally[ACTIVE]):
        pair = s.active[i]
        edge = s.first_edge[pair]
        while edge >= 0:
            left[pair] += max(s.ends_at[edge] - s.served[pair], 0.0)
            edge = s.next_edge[edge]
