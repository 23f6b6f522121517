"""The event loop: requests come, steps end, caches arrive, replicas fail and change their pool."""

from pathlib import Path

from topoopt.base.kernel import compiled, drop_top, entry, stamp, stamped
from topoopt.inference.simulator.kernel.layout import (
    ANSWERING,
    CHANGED,
    COMES,
    DRAINS,
    IDLE,
    NEVER,
    NEVER_YET,
    READING,
    SENT,
    SHIFT,
    STAYS,
    STEPPING,
    TICK,
    TRANSFERRED,
    TURNED,
    Clock,
    Count,
    Number,
    Pool,
    Replica,
    Request,
    State,
    Time,
)
from topoopt.inference.simulator.kernel.pages import forget, give_back, tokens_after
from topoopt.inference.simulator.kernel.queue import come, join, known_tokens, leave, load_of, take_first
from topoopt.inference.simulator.kernel.rows import schedule, step_under_way
from topoopt.inference.simulator.kernel.steps import account, begin_step, end_row
from topoopt.inference.simulator.kernel.transfers import change_link, drop_flow, end_flows, share_links

STAMP = stamp(Path(__file__).parent.glob("*.py"))
"""Stamp of the whole simulator, which is compiled into this file's one function."""


@entry
@stamped(STAMP)
def simulate(s: State) -> None:
    """Handle events until every request has ended, none is left, or there were too many.

    All that happens at the same time happens before replicas begin their next steps.
    """
    requests = len(s.request)
    for i in range(len(s.change_s)):
        schedule(s, s.change_s[i], CHANGED, i)
    if s.number[Number.EVERY_S] > 0.0:
        schedule(s, s.number[Number.EVERY_S], TICK, 0)
    by_clock = requests if s.tally[Count.CLIENTS] == 0 else min(s.tally[Count.CLIENTS], requests)
    while s.tally[Count.DONE] < requests and s.tally[Count.EVENTS] < s.tally[Count.MOST_EVENTS]:
        now = s.number[Number.NEXT]
        if s.tally[Count.HEAP] > 0:
            now = min(now, s.keys[0])
        if s.tally[Count.COME] < by_clock:
            now = min(now, s.arrival_s[s.tally[Count.COME]])
        for r in range(len(s.replica)):
            now = min(now, s.clock[r, Clock.END])
        if now == NEVER:
            return
        while s.tally[Count.COME] < by_clock and s.arrival_s[s.tally[Count.COME]] == now:
            q = s.tally[Count.COME]
            s.tally[Count.COME] += 1
            s.tally[Count.EVENTS] += 1
            come(s, q, now)
        _handle_events(s, now)
        if s.number[Number.NEXT] <= now:
            s.tally[Count.EVENTS] += 1
            end_flows(s, now)
        for r in range(len(s.replica)):
            if s.clock[r, Clock.END] == now:
                s.tally[Count.EVENTS] += 1
                end_row(s, r, now)
        _handle_events(s, now)
        for r in range(len(s.replica)):
            if s.replica[r, Replica.MARKED] == 1:
                begin_step(s, r, now)
        if s.tally[Count.UNSHARED] == 1:
            share_links(s, now)


@compiled
def _handle_events(s: State, now: float) -> None:
    while s.tally[Count.HEAP] > 0 and s.keys[0] == now:
        kind, which = s.codes[0] >> SHIFT, s.codes[0] & ((1 << SHIFT) - 1)
        s.tally[Count.HEAP] = drop_top(s.keys, s.codes, s.tally[Count.HEAP])
        s.tally[Count.EVENTS] += 1
        if kind == COMES:
            come(s, which, now)
        elif kind == TRANSFERRED:
            _arrive(s, which, now)
        elif kind == CHANGED and s.change[which, 1] >= 2:
            change_link(s, s.change[which, 0], 1 if s.change[which, 1] == 2 else -1, now)
        elif kind == CHANGED and s.change[which, 1] == 0:
            _fail(s, s.change[which, 0], now)
        elif kind == CHANGED:
            s.replica[s.change[which, 0], Replica.UP] = 1
            s.replica[s.change[which, 0], Replica.MARKED] = 1
        elif kind == TURNED:
            _turn(s, which, now)
        else:
            _balance(s, now)
            schedule(s, now + s.number[Number.EVERY_S], TICK, 0)


@compiled
def _turn(s: State, r: int, now: float) -> None:
    """Move a replica to the other pool; requests that still arrive are routed anew."""
    s.replica[r, Replica.POOL] = 1 - s.replica[r, Replica.POOL]
    s.replica[r, Replica.TURNING] = STAYS
    s.replica[r, Replica.MARKED] = 1
    for _ in range(s.replica[r, Replica.WAITING]):
        q = take_first(s, r)
        leave(s, r, q)
        come(s, q, now)


@compiled
def _arrive(s: State, q: int, now: float) -> None:
    """Handle the arrival of a cache: it waits for its place; if an end failed meanwhile, the prompt is prefilled
    again."""
    source, r = s.request[q, Request.SOURCE], s.request[q, Request.REPLICA]
    s.request[q, Request.BOUND] = 0
    s.clock[r, Clock.LOAD] -= known_tokens(s, q)  # who comes counts from where it was sent
    there = s.request[q, Request.SOURCE_EPOCH] == s.replica[source, Replica.EPOCH]
    if there:
        give_back(s, source, q)
        s.replica[source, Replica.MARKED] = 1
    else:
        s.request[q, Request.PAGES] = 0
        s.request[q, Request.SHARED] = 0
    if there and s.request[q, Request.EPOCH] == s.replica[r, Replica.EPOCH]:
        if s.time[q, Time.ARRIVED] == NEVER_YET:
            s.time[q, Time.ARRIVED] = now
        s.request[q, Request.TARGET] = tokens_after(s, q, s.request[q, Request.STEPS])
        s.request[q, Request.READ] = s.request[q, Request.TARGET]
        join(s, r, q, now)
    else:
        come(s, q, now)


@compiled
def _fail(s: State, r: int, now: float) -> None:
    """Fail a replica: its caches are lost, and its requests are routed and prefilled again."""
    if s.replica[r, Replica.UP] == 0:
        return
    s.replica[r, Replica.UP] = 0
    s.replica[r, Replica.EPOCH] += 1
    if s.replica[r, Replica.BUSY] == STEPPING:
        steps = step_under_way(s, r, now) - 1
        account(s, r, steps, now)
        if s.replica[r, Replica.ANSWERED] > 0:
            s.clock[r, Clock.LOAD] += s.number[Number.ACCEPTED] * s.replica[r, Replica.ANSWERED] * steps
            for i in range(s.replica[r, Replica.RUNNING]):
                if s.request[s.running[r, i], Request.STATE] == ANSWERING:
                    s.request[s.running[r, i], Request.STEPS] += steps
    s.replica[r, Replica.BUSY] = IDLE
    s.clock[r, Clock.END] = NEVER
    running, waiting = s.replica[r, Replica.RUNNING], s.replica[r, Replica.WAITING]
    s.replica[r, Replica.RUNNING] = 0
    forget(s, r)
    _cut_flows(s, r, now)
    for i in range(running):
        _move_away(s, r, s.running[r, i], now)
    for _ in range(waiting):
        _move_away(s, r, take_first(s, r), now)


@compiled
def _cut_flows(s: State, r: int, now: float) -> None:
    """Take caches from and to a replica off the links; prompts still in prefill are sent afterwards."""
    i = 0
    while i < s.tally[Count.FLOWING]:
        q = s.flowing[i]
        if s.request[q, Request.SOURCE] != r and s.request[q, Request.REPLICA] != r:
            i += 1
            continue
        drop_flow(s, i, now)
        if s.request[q, Request.STATE] == SENT:
            _arrive(s, q, now)
        else:
            tokens = known_tokens(s, q) + s.number[Number.ACCEPTED] * s.request[q, Request.BEGUN]
            s.clock[s.request[q, Request.REPLICA], Clock.LOAD] -= tokens
            s.request[q, Request.BOUND] = 0


@compiled
def _move_away(s: State, r: int, q: int, now: float) -> None:
    leave(s, r, q)
    if s.request[q, Request.STATE] == ANSWERING or s.request[q, Request.STATE] == READING:
        s.request[q, Request.PREEMPTED] += 1
    s.request[q, Request.PIECE] = 0
    s.request[q, Request.PAGES] = 0
    s.request[q, Request.SHARED] = 0
    come(s, q, now)


@compiled
def _balance(s: State, now: float) -> None:
    """Move one replica to the other pool, if one pool is overloaded and the other has little load."""
    least_0, least_1, load_0, load_1 = -1, -1, NEVER, NEVER
    readers, answerers, unread, full = 0, 0, 0, 0.0
    for r in range(len(s.replica)):
        if s.replica[r, Replica.TURNING] != STAYS:
            return  # one after the other
        if s.replica[r, Replica.UP] == 0:
            continue
        load = load_of(s, r, now)
        if s.replica[r, Replica.POOL] == 0:
            readers += 1
            unread += s.replica[r, Replica.UNREAD]
            if load < load_0:
                least_0, load_0 = r, load
        else:
            answerers += 1
            full += load / (s.pool[1, Pool.PAGES] * s.tally[Count.PAGE])
            if load < load_1:
                least_1, load_1 = r, load
    if readers == 0 or answerers == 0:
        return
    behind = unread > s.number[Number.UNREAD] * readers
    if behind and full < s.number[Number.EMPTY] * answerers and answerers > 1:
        s.replica[least_1, Replica.TURNING] = DRAINS
        s.replica[least_1, Replica.MARKED] = 1
    elif not behind and full > s.number[Number.FULL] * answerers and readers > 1:
        s.replica[least_0, Replica.TURNING] = DRAINS
        s.replica[least_0, Replica.MARKED] = 1
