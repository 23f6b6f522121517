"""The event loop of all that shares links max-min fairly.

Codes of events: ``BEGIN`` comes first of all; below tasks a computation or a delay ends; then, by connections, a
connection's first byte leaves; then, by connections again, a connection is done.
"""

from pathlib import Path

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.kernel import compiled, entry, inlined, stamp, stamped
from topoopt.simulation.analytic.task_run import EVENTS, READY
from topoopt.simulation.analytic.task_run_kernel import (
    end_task,
    next_event,
    queue_for_device,
    run_devices,
    schedule,
)
from topoopt.simulation.fluid.filling_kernel import (
    TIE,
    fill,
    insert,
    list_active,
    list_class,
    reweigh,
    strike_class,
)
from topoopt.simulation.fluid.incremental_kernel import (
    aim,
    change,
    end_of,
    enter_many,
    next_of_many,
    rank,
    refill,
    serve_many,
    settle_all,
    share_many,
)
from topoopt.simulation.fluid.state import (
    ACTIVE,
    AFRESH,
    HOLD,
    REPORT,
    STOPS,
    Delays,
    Links,
    Rounds,
    Sharing,
    State,
)

FILES = Path(__file__).parent
FLUID_STAMP = stamp([*FILES.glob("*.py"), *FILES.with_name("analytic").glob("task_run*.py")])
"""Stamp of all code compiled into the engine, and of the clocks and the filling that other loops reuse."""
NEVER = np.inf
BEGIN = -1


@entry
@stamped(FLUID_STAMP)
def advance(s: State, net: Links, delays: Delays, until: float, tolerance: float) -> None:
    """Serve all events up to and with ``until`` at max-min fair rates, or up to a watched task's.

    Events within ``tolerance`` × now after a change of rates are handled with it. Of many classes only those that an
    event changes are looked at (:mod:`topoopt.simulation.fluid.incremental_kernel`).
    """
    t, x, many = s.tasks, s.sharing, s.many
    list_active(x, net)
    next_end = _share_anew(x, net) if len(many.since) == 0 else refill(x, net, many)
    while True:
        now = t.keys[0] if t.tally[EVENTS] > 0 else NEVER
        if min(now, next_end) > until or min(now, next_end) == NEVER:
            break
        changed = next_end <= now
        horizon = min(next_end * (1.0 + tolerance), until) if changed else now
        if changed:
            if len(many.since) == 0:
                _end_until(s, delays, horizon)
            else:
                _end_many_until(s, net, delays, horizon)
        entering = 0
        while t.tally[EVENTS] > 0 and t.keys[0] <= horizon:
            now = t.keys[0]
            while t.tally[EVENTS] > 0 and t.keys[0] == now:
                connection = _handle(s, delays, next_event(t), now)
                if connection < 0:
                    continue
                x.entering[entering] = connection
                entering += 1
                if not changed:
                    changed = True
                    horizon = min(now * (1.0 + tolerance), next_end, until)
            run_devices(t, now)
        if changed and len(many.since) == 0:
            _serve_until(x, net, horizon)
            for i in range(entering):
                _enter(s, net, x.entering[i])
            next_end = _share_anew(x, net)
        elif changed:
            serve_many(x, net, many, horizon)
            for i in range(entering):
                enter_many(x, s.rounds, net, many, x.entering[i])
            next_end = share_many(x, net, many)
        if s.rounds.tally[STOPS] > 0:
            until = now
            break
    if until < NEVER and x.clock[0] < until:
        if len(many.since) == 0:
            _serve_until(x, net, until)
        else:
            x.clock[0] = until
    if len(many.since) > 0:
        settle_all(x, net, many)


@entry
def bytes_left(x: Sharing, left: Floats) -> None:
    """Set the bytes that each class's connections, shape (classes,), have still to send."""
    for c in range(len(left)):
        left[c] = 0.0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        connection = x.first[c]
        while connection >= 0:
            left[c] += max(x.ends_at[connection] - x.served[c], 0.0)
            connection = x.next_connection[connection]


@inlined
def _handle(s: State, delays: Delays, code: int, now: float) -> int:
    """Handle an event; return the connection whose first byte leaves, or -1."""
    t = s.tasks
    tasks, connections = len(t.device), len(s.sharing.connection_class)
    if code >= tasks + connections:
        _end_connection(s, delays, code - tasks - connections, now)
    elif code >= tasks:
        return code - tasks
    elif code == BEGIN:
        _begin_ready(s, now)
    elif s.rounds.open_streams[code] == 0:
        _end(s, code, now)
    else:
        for stream in range(s.rounds.task_stream[code], s.rounds.task_stream[code + 1]):
            _open_round(s, delays, stream, now)
    return -1


@compiled
def _end(s: State, task: int, now: float) -> None:
    end_task(s.tasks, task, now)
    _stop(s.rounds, task, REPORT)
    _begin_ready(s, now)


@compiled
def _begin_ready(s: State, now: float) -> None:
    """Start all ready tasks: a delay, a place in the queue of a device, or a hold."""
    t = s.tasks
    for i in range(t.tally[READY]):
        task = t.ready[i]
        t.start[task] = now
        if _stop(s.rounds, task, HOLD):
            continue
        if t.device[task] >= 0:
            queue_for_device(t, task, now)
        else:
            schedule(t, now + t.duration[task], task)
    t.tally[READY] = 0


@compiled
def _stop(rounds: Rounds, task: int, reason: int) -> bool:
    """Stop the engine for a task that is watched for a reason; return whether it is."""
    if rounds.watch[task] & reason == 0:
        return False
    rounds.stops[rounds.tally[STOPS]] = task
    rounds.tally[STOPS] += 1
    return True


@compiled
def _open_round(s: State, delays: Delays, stream: int, now: float) -> None:
    r, x = s.rounds, s.sharing
    r.rounds_left[stream] -= 1
    r.to_end[stream] = r.first[stream + 1] - r.first[stream]
    for connection in range(r.first[stream], r.first[stream + 1]):
        r.opening[x.connection_class[connection]] += x.bytes_each[connection]
        schedule(s.tasks, now + delays.before[connection], len(s.tasks.device) + connection)


@inlined
def _end_connection(s: State, delays: Delays, connection: int, now: float) -> None:
    """End a connection; the last of a round opens the next one, the last of all ends the task."""
    r = s.rounds
    stream = r.of[connection]
    r.to_end[stream] -= 1
    if r.to_end[stream] > 0:
        return
    if r.rounds_left[stream] > 0:
        _open_round(s, delays, stream, now)
        return
    task = r.stream_task[stream]
    r.open_streams[task] -= 1
    if r.open_streams[task] == 0:
        _end(s, task, now)


@inlined
def _enter(s: State, net: Links, connection: int) -> None:
    x = s.sharing
    c = x.connection_class[connection]
    if x.first[c] < 0:
        x.active[x.tally[ACTIVE]] = c
        x.tally[ACTIVE] += 1
        x.served[c] = 0.0
        list_class(net, c)
    s.rounds.opening[c] -= x.bytes_each[connection]
    s.rounds.entered[c] += x.bytes_each[connection]
    weight = x.share[connection] * x.force[c]
    x.weight[c] += weight
    x.listed[c] = x.weight[c]
    reweigh(net, c, weight)
    insert(x, connection)


@inlined
def _end_until(s: State, delays: Delays, horizon: float) -> None:
    """Remove the connections that are done by then, each at its own time."""
    x = s.sharing
    first_code = len(s.tasks.device) + len(x.connection_class)
    limit = horizon + TIE * horizon
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        while x.first[c] >= 0 and x.level[c] > 0.0:
            connection = x.first[c]
            end = x.clock[0] + (x.ends_at[connection] - x.served[c]) / (x.level[c] * x.force[c])
            if end > limit:
                break
            x.first[c] = x.next_connection[connection]
            x.weight[c] -= x.share[connection] * x.force[c]
            schedule(s.tasks, max(end, x.clock[0]) + delays.after[connection], first_code + connection)


@inlined
def _end_many_until(s: State, net: Links, delays: Delays, horizon: float) -> None:
    """Remove the connections that are done by then, as :func:`_end_until` does, by a heap of links."""
    x, many = s.sharing, s.many
    first_code = len(s.tasks.device) + len(x.connection_class)
    limit = horizon + TIE * horizon
    while next_of_many(net, many) <= limit:
        m, first_end = many.ranked[0], NEVER
        for i in range(net.link_first[m], net.link_first[m] + many.bound[m]):
            c = net.member[i]
            while end_of(net, many, m, c) <= limit:
                connection, end = x.first[c], end_of(net, many, m, c)
                x.first[c] = x.next_connection[connection]
                x.weight[c] -= x.share[connection] * x.force[c]
                schedule(s.tasks, max(end, x.clock[0]) + delays.after[connection], first_code + connection)
                change(many, c)
                aim(x, many, c)
            first_end = min(first_end, many.target[c])
        many.first_end[m] = first_end
        rank(net, many, m)


@compiled
def _serve_until(x: Sharing, net: Links, horizon: float) -> None:
    """Serve all active classes up to then; those without connections are active no more."""
    kept = 0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        x.served[c] += x.level[c] * x.force[c] * (horizon - x.clock[0])
        if x.first[c] >= 0:
            x.active[kept] = c
            kept += 1
        else:
            x.weight[c] = 0.0
            strike_class(net, c)
        if x.weight[c] != x.listed[c]:
            reweigh(net, c, x.weight[c] - x.listed[c])
            x.listed[c] = x.weight[c]
    x.tally[ACTIVE] = kept
    x.clock[0] = horizon


@compiled
def _share_anew(x: Sharing, net: Links) -> float:
    """Set the fair level of all active classes, 0 for waiting ones; return when the first connection is done."""
    if net.tally[AFRESH] == 1:
        list_active(x, net)
    fill(x, net)
    next_end = NEVER
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        if x.level[c] > 0.0:
            behind = max(x.ends_at[x.first[c]] - x.served[c], 0.0)
            next_end = min(next_end, x.clock[0] + behind / (x.level[c] * x.force[c]))
    return next_end
