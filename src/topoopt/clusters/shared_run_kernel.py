"""The event loop of jobs that share links: iterations back to back, under max-min fair connections.

Codes of events: below tasks the lead or the tail of a task ends; then, by jobs, an iteration begins. Tasks, devices,
connections and links are as the fluid engine has them (``TaskRun``, ``Sharing``, ``Links``): a connection is a task
that sends, and the duration of a task is its lead.

Within a class, tasks that send at the same time share its rate equally, so it keeps one virtual clock (bytes served to
each) and its tasks in order of the clock value at which they end. Against other classes it weighs 1, or, if every
collective has connections of its own, as much as it has tasks that send. While that stays, so do all rates, and the
clocks of other classes are unchanged.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, entry, inlined, owning_entry, stamped
from topoopt.simulation import (
    ACTIVE,
    EVENTS,
    FLUID_STAMP,
    READY,
    TIE,
    Links,
    Sharing,
    TaskRun,
    end_task,
    fill,
    insert,
    list_class,
    next_event,
    queue_for_device,
    reweigh,
    run_devices,
    schedule,
    strike_class,
)

NEVER = np.inf
UNFINISHED, CHANGED, SERVED_EVENTS = range(3)


class BackToBack(NamedTuple):
    """Jobs and their iterations, and the rates of classes.

    ============== ======= ============ ====================================================================
    name           dtype   shape        meaning
    ============== ======= ============ ====================================================================
    job_task       int64   (jobs+1,)    tasks of a job are consecutive
    job            int64   (tasks,)     job of a task
    tail           float64 (tasks,)     s between a task's last byte and its end
    predecessors   int64   (tasks,)     how many tasks a task waits for, in every iteration
    root_first     int64   (jobs+1,)    CSR pointer into ``root``
    root           int64   (roots,)     tasks to begin with: computations, and the first of the timed ones
    next_timed     int64   (tasks,)     next communication without predecessors, by lead, else -1
    sent           int64   (tasks,)     whether the last byte of a task has left
    to_end         int64   (jobs,)      tasks of the iteration that are not done
    began, late    float64 (jobs,)      s; begin of the iteration, and the latest end of a task in it so far
    counted, total i8, f8  (jobs,)      iterations that count, and the s that they took together
    sample         float64 (jobs, n)    s; the first of them
    left_at        float64 (tasks,)     s; when the first byte of a task left
    steady         int64   (tasks,)     0 for sends of served models' requests, 1 for others
    sends          int64   (jobs, 2)    tasks that sent all their bytes in iterations that count, by ``steady``
    send_total     float64 (jobs, 2)    s from first to last byte, of all of these
    send_sample    float64 (jobs, 2, n) s; the first of them
    whole_sends    int64   (jobs, 2)    ``sends`` when the last iteration that counts was over
    whole_total    float64 (jobs, 2)    ``send_total`` then
    sending        int64   (classes,)   tasks that send
    rate           float64 (classes,)   bytes/s of all of them together
    touched_at     float64 (classes,)   s until when ``served`` is right
    end_time       float64 (classes,)   s; when the first of them has sent its last byte
    changed        int64   (classes,)   classes whose weight changed; the first ``tally[CHANGED]``
    is_changed     int64   (classes,)
    tally          int64   (3,)         ``UNFINISHED`` jobs, ``CHANGED`` classes, ``SERVED_EVENTS``
    ============== ======= ============ ====================================================================
    """

    job_task: Ints
    job: Ints
    tail: Floats
    predecessors: Ints
    root_first: Ints
    root: Ints
    next_timed: Ints
    sent: Ints
    to_end: Ints
    began: Floats
    late: Floats
    counted: Ints
    total: Floats
    sample: Floats
    left_at: Floats
    steady: Ints
    sends: Ints
    send_total: Floats
    send_sample: Floats
    whole_sends: Ints
    whole_total: Floats
    sending: Ints
    rate: Floats
    touched_at: Floats
    end_time: Floats
    changed: Ints
    is_changed: Ints
    tally: Ints


class Rules(NamedTuple):
    """Rules for the end of a run, and weights of classes.

    ``iterations`` is the number per job while all of them run, after ``settled``, the s when the last one began.
    """

    iterations: int
    most_events: int
    per_collective: bool
    settled: float


@entry
@stamped(FLUID_STAMP)
def run_back_to_back(t: TaskRun, x: Sharing, net: Links, b: BackToBack, rules: Rules) -> None:
    """Run all jobs, iteration after iteration, until each has done enough; give up after too many events."""
    while b.tally[UNFINISHED] > 0 and b.tally[SERVED_EVENTS] <= rules.most_events:
        now = t.keys[0] if t.tally[EVENTS] > 0 else NEVER
        for i in range(x.tally[ACTIVE]):
            now = min(now, b.end_time[x.active[i]])
        for i in range(x.tally[ACTIVE]):
            if b.end_time[x.active[i]] <= now * (1.0 + TIE):
                _end_sending(t, x, b, rules, x.active[i], now)
        while t.tally[EVENTS] > 0 and t.keys[0] <= now and b.tally[UNFINISHED] > 0:
            _handle(t, x, b, rules, next_event(t), now)
        run_devices(t, now)
        if b.tally[CHANGED] > 0:
            _share_anew(x, net, b, rules, now)


@inlined
def _handle(t: TaskRun, x: Sharing, b: BackToBack, rules: Rules, code: int, now: float) -> None:
    tasks = len(t.device)
    b.tally[SERVED_EVENTS] += 1
    if code >= tasks:
        _begin_iteration(t, b, rules, code - tasks, now)
        _begin_ready(t, b, now)
        return
    if b.sent[code] == 0 and b.next_timed[code] >= 0:
        other = b.next_timed[code]
        b.sent[other] = 0
        schedule(t, b.began[b.job[code]] + t.duration[other], other)
    if t.device[code] < 0 and b.sent[code] == 0 and x.bytes_each[code] > 0.0:
        _send(x, b, rules, code, now)
    else:
        end_task(t, code, now)
        _end_in_iteration(t, b, code, now)
        _begin_ready(t, b, now)


@inlined
def _begin_iteration(t: TaskRun, b: BackToBack, rules: Rules, job: int, now: float) -> None:
    """Count the iteration that ended, unless it began before the last job did, and let the next one begin."""
    if b.began[job] >= rules.settled:
        if b.counted[job] < b.sample.shape[1]:
            b.sample[job, b.counted[job]] = now - b.began[job]
        b.total[job] += now - b.began[job]
        b.counted[job] += 1
        for kind in range(b.sends.shape[1]):
            b.whole_sends[job, kind] = b.sends[job, kind]
            b.whole_total[job, kind] = b.send_total[job, kind]
        if b.counted[job] == rules.iterations:
            b.tally[UNFINISHED] -= 1
    b.began[job] = now
    b.late[job] = now
    b.to_end[job] = b.job_task[job + 1] - b.job_task[job]
    for i in range(b.root_first[job], b.root_first[job + 1]):
        t.ready[t.tally[READY]] = b.root[i]
        t.tally[READY] += 1


@compiled
def _begin_ready(t: TaskRun, b: BackToBack, now: float) -> None:
    """Start all ready tasks: their lead, or their place in the queue of a device."""
    for i in range(t.tally[READY]):
        task = t.ready[i]
        t.waiting[task] = b.predecessors[task]
        if t.device[task] >= 0:
            queue_for_device(t, task, now)
        else:
            b.sent[task] = 0
            schedule(t, now + t.duration[task], task)
    t.tally[READY] = 0


@compiled
def _end_in_iteration(t: TaskRun, b: BackToBack, task: int, end: float) -> None:
    """Record the end of a task; the last one of an iteration starts the next."""
    job = b.job[task]
    b.late[job] = max(b.late[job], end)
    b.to_end[job] -= 1
    if b.to_end[job] == 0:
        schedule(t, b.late[job], len(t.device) + job)


@inlined
def _send(x: Sharing, b: BackToBack, rules: Rules, task: int, now: float) -> None:
    """Start the transfer of a task's first byte."""
    c = x.connection_class[task]
    if b.sending[c] == 0:
        x.served[c] = 0.0
        b.touched_at[c] = now
    else:
        _serve(x, b, c, now)
    insert(x, task)
    b.left_at[task] = now
    b.sending[c] += 1
    if b.sending[c] == 1 or rules.per_collective:
        _note_change(b, c)
    b.end_time[c] = NEVER
    if b.rate[c] > 0.0:
        b.end_time[c] = now + (x.ends_at[x.first[c]] - x.served[c]) * b.sending[c] / b.rate[c]


@inlined
def _end_sending(t: TaskRun, x: Sharing, b: BackToBack, rules: Rules, c: int, now: float) -> None:
    """Remove the tasks from a class whose last byte leaves."""
    x.served[c] = x.ends_at[x.first[c]]
    b.touched_at[c] = now
    while x.first[c] >= 0 and x.ends_at[x.first[c]] <= x.served[c] * (1.0 + TIE):
        task = x.first[c]
        x.first[c] = x.next_connection[task]
        b.sending[c] -= 1
        _note_send(b, rules, task, now)
        if t.successor_first[task] == t.successor_first[task + 1]:
            _end_in_iteration(t, b, task, now + b.tail[task])
        else:
            b.sent[task] = 1
            schedule(t, now + b.tail[task], task)
    if b.sending[c] == 0 or rules.per_collective:
        _note_change(b, c)
    if b.sending[c] == 0:
        b.end_time[c] = NEVER
        b.rate[c] = 0.0
    else:
        b.end_time[c] = now + (x.ends_at[x.first[c]] - x.served[c]) * b.sending[c] / b.rate[c]


@inlined
def _note_send(b: BackToBack, rules: Rules, task: int, now: float) -> None:
    """Record the transfer time of a task, unless its iteration began before the last job did."""
    job, kind = b.job[task], b.steady[task]
    if b.began[job] < rules.settled:
        return
    if b.sends[job, kind] < b.send_sample.shape[2]:
        b.send_sample[job, kind, b.sends[job, kind]] = now - b.left_at[task]
    b.send_total[job, kind] += now - b.left_at[task]
    b.sends[job, kind] += 1


@compiled
def _serve(x: Sharing, b: BackToBack, c: int, now: float) -> None:
    x.served[c] += b.rate[c] / b.sending[c] * (now - b.touched_at[c])
    b.touched_at[c] = now


@compiled
def _note_change(b: BackToBack, c: int) -> None:
    if b.is_changed[c] == 0:
        b.is_changed[c] = 1
        b.changed[b.tally[CHANGED]] = c
        b.tally[CHANGED] += 1


@inlined
def _share_anew(x: Sharing, net: Links, b: BackToBack, rules: Rules, now: float) -> None:
    """Set the fair rates of all classes that send, and when the first task of each has sent its last byte."""
    for i in range(b.tally[CHANGED]):
        _list_change(x, net, b, rules, b.changed[i])
    b.tally[CHANGED] = 0
    x.tally[ACTIVE] = 0
    for c in range(len(b.sending)):
        if b.sending[c] > 0:
            _serve(x, b, c, now)
            x.active[x.tally[ACTIVE]] = c
            x.tally[ACTIVE] += 1
    fill(x, net)
    b.tally[SERVED_EVENTS] += x.tally[ACTIVE]
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        b.rate[c] = x.level[c] * x.weight[c]
        behind = max(x.ends_at[x.first[c]] - x.served[c], 0.0)
        b.end_time[c] = now + behind * b.sending[c] / b.rate[c]


@inlined
def _list_change(x: Sharing, net: Links, b: BackToBack, rules: Rules, c: int) -> None:
    """Update the links of a class with its present weight."""
    b.is_changed[c] = 0
    x.weight[c] = b.sending[c] if rules.per_collective else min(b.sending[c], 1)
    change = x.weight[c] - x.listed[c]
    if change == 0.0:
        return
    if x.listed[c] == 0.0:
        list_class(net, c)
    if x.weight[c] == 0.0:
        strike_class(net, c)
    reweigh(net, c, change)
    x.listed[c] = x.weight[c]


@owning_entry
def covered_links(first: Ints, of_class: Ints, part: Floats, classes: int) -> NDArray[np.bool_]:
    """Return the links that can never be saturated before another one is, shape (links,).

    Link m has the classes ``of_class[first[m] : first[m+1]]``, ascending, and takes ``part`` of each. Another link that
    takes as much of all these classes is full no later; of equal links the first stays.
    """
    links = len(first) - 1
    users = np.zeros(classes + 1, np.int64)
    for e in range(first[links]):
        users[of_class[e] + 1] += 1
    for c in range(classes):
        users[c + 1] += users[c]
    place = users[:classes].copy()
    member = np.empty(first[links], np.int64)
    covered = np.zeros(links, np.bool_)
    for m in range(links):
        for e in range(first[m], first[m + 1]):
            member[place[of_class[e]]] = m
            place[of_class[e]] += 1
    for m in range(links):
        rarest = of_class[first[m]]
        for e in range(first[m], first[m + 1]):
            c = of_class[e]
            if users[c + 1] - users[c] < users[rarest + 1] - users[rarest]:
                rarest = c
        for k in range(users[rarest], users[rarest + 1]):
            other = member[k]
            if other == m:
                continue
            here = first[m]
            less = False
            for e in range(first[other], first[other + 1]):
                if here < first[m + 1] and of_class[e] == of_class[here]:
                    if part[e] < part[here] * (1.0 - TIE):
                        break
                    less = less or part[e] > part[here] * (1.0 + TIE)
                    here += 1
                else:
                    less = True
            if here == first[m + 1] and (less or other < m):
                covered[m] = True
                break
    return covered
