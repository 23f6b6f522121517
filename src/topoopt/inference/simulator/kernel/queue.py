"""Queues and routing: a request arrives at a replica, waits there, and leaves it."""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.layout import (
    IDLE,
    NETWORK_AWARE,
    NEVER,
    PREFIX_AWARE,
    ROUND_ROBIN,
    STAYS,
    WAITING,
    Clock,
    Count,
    Number,
    Pool,
    Replica,
    Request,
    State,
)
from topoopt.inference.simulator.kernel.pages import matched, tokens_after
from topoopt.inference.simulator.kernel.rows import commit, shorten, step_under_way
from topoopt.inference.simulator.kernel.transfers import crossing_s, has_fabric

MOST_GROUP = 99


@compiled
def known_tokens(s: State, q: int) -> float:
    """Return the tokens in the cache of a request."""
    return s.request[q, Request.INPUT] + s.number[Number.ACCEPTED] * s.request[q, Request.STEPS]


@compiled
def aim(s: State, q: int) -> None:
    """Set the tokens to prefill of a request without a cache: its prompt and the tokens generated so far."""
    if s.request[q, Request.BEGUN] == 0:
        s.request[q, Request.TARGET] = s.request[q, Request.INPUT]
    else:
        s.request[q, Request.TARGET] = tokens_after(s, q, s.request[q, Request.STEPS]) + 1
    s.request[q, Request.READ] = 0


@compiled
def join(s: State, r: int, q: int, now: float) -> None:
    """Append a request to the queue of a replica."""
    s.request[q, Request.STATE] = WAITING
    s.request[q, Request.REPLICA] = r
    s.request[q, Request.BEHIND] = -1
    if s.replica[r, Replica.WAITING] == 0:
        s.replica[r, Replica.HEAD] = q
        if s.replica[r, Replica.RUNNING] < s.pool[s.replica[r, Replica.POOL], Pool.BATCH]:
            shorten(s, r, now)
    else:
        s.request[s.replica[r, Replica.TAIL], Request.BEHIND] = q
    s.replica[r, Replica.TAIL] = q
    s.replica[r, Replica.WAITING] += 1
    s.replica[r, Replica.UNREAD] += s.request[q, Request.TARGET] - s.request[q, Request.READ]
    s.clock[r, Clock.LOAD] += known_tokens(s, q)
    s.replica[r, Replica.MARKED] = 1


@compiled
def put_first(s: State, r: int, q: int) -> None:
    """Enqueue a preempted request before all others of its replica."""
    s.request[q, Request.STATE] = WAITING
    s.request[q, Request.BEHIND] = s.replica[r, Replica.HEAD]
    if s.replica[r, Replica.WAITING] == 0:
        s.request[q, Request.BEHIND] = -1
        s.replica[r, Replica.TAIL] = q
    s.replica[r, Replica.HEAD] = q
    s.replica[r, Replica.WAITING] += 1


@compiled
def take_first(s: State, r: int) -> int:
    """Dequeue the first request."""
    q = s.replica[r, Replica.HEAD]
    s.replica[r, Replica.HEAD] = s.request[q, Request.BEHIND]
    s.replica[r, Replica.WAITING] -= 1
    return q


@compiled
def leave(s: State, r: int, q: int) -> None:
    """Count a request no more among those of a replica."""
    s.clock[r, Clock.LOAD] -= known_tokens(s, q)
    s.replica[r, Replica.UNREAD] -= s.request[q, Request.TARGET] - s.request[q, Request.READ]


@compiled
def load_of(s: State, r: int, now: float) -> float:
    """Return the tokens of all requests of a replica, including those in transfer and generated tokens."""
    load = s.clock[r, Clock.LOAD]
    if s.replica[r, Replica.BUSY] != IDLE and s.replica[r, Replica.ROW] > 1:
        over = step_under_way(s, r, now) - 1
        load += s.number[Number.ACCEPTED] * s.replica[r, Replica.ANSWERED] * over
    return load


@compiled
def sent_at(s: State, source: int, r: int, q: int, end: float) -> float:
    """Return the arrival time of a cache ready at ``end``; each end does one transfer at a time.

    Layers are sent while later ones are prefilled: after the step the last one remains, and those not sent in
    that time. In a line of two stations that is exact: with ``b`` the time of all bytes and ``p`` that of the
    step, the last of ``l`` layers leaves ``max(b / l, b - p (l - 1) / l)`` after the step.
    """
    size = s.number[Number.CACHE_BYTES] * known_tokens(s, q)
    bytes_s = size / s.bytes_per_s[source, r]
    exposed_s = bytes_s
    layers = s.tally[Count.LAYERS]
    if layers > 1:
        exposed_s = max(
            bytes_s / layers, bytes_s - (end - s.clock[source, Clock.BEGIN]) * ((layers - 1) / layers)
        )
    ready = max(
        end + exposed_s, s.clock[source, Clock.SENDING] + bytes_s, s.clock[r, Clock.RECEIVING] + bytes_s
    )
    return ready + s.setup_s[source, r]


@compiled
def choose(s: State, pool: int, q: int, source: int, end: float, now: float) -> int:
    """Return the replica of a pool for a request, or for one from a source that ended its prefill at ``end``.

    Among equal ones, the first is taken. If none takes requests, one that will later, or that must after all.
    """
    router = s.tally[Count.ROUTER]
    if router == ROUND_ROBIN:
        return _next_in_turn(s, pool, source)
    best, best_group, best_cost, best_load = -1, MOST_GROUP, NEVER, NEVER
    for r in range(len(s.replica)):
        if s.replica[r, Replica.POOL] != pool:
            continue
        group = _group(s, r, source)
        load = load_of(s, r, now)
        cost = load
        if router == PREFIX_AWARE and pool == 0:
            commit_up_to(s, r, now)
            blocks = matched(s, r, q)
            hit = blocks * s.tally[Count.BLOCK_PAGES] * s.tally[Count.PAGE]
            cost = 1.0 * (s.replica[r, Replica.UNREAD] - hit)
        elif router == NETWORK_AWARE and pool == 1:
            if load + known_tokens(s, q) > s.pool[pool, Pool.PAGES] * s.tally[Count.PAGE]:
                group += 1
            else:
                cost = _arrival(s, source, r, q, end, now)
        if group < best_group or (
            group == best_group and (cost < best_cost or (cost == best_cost and load < best_load))
        ):
            best, best_group, best_cost, best_load = r, group, cost, load
    return best


@compiled
def commit_up_to(s: State, r: int, now: float) -> None:
    """Allocate the pages of the steps that a replica has begun."""
    if s.replica[r, Replica.BUSY] != IDLE and s.replica[r, Replica.ROW] > 1:
        commit(s, r, step_under_way(s, r, now))


@compiled
def _arrival(s: State, source: int, r: int, q: int, end: float, now: float) -> float:
    """Return the arrival time of a request's cache, with the present use of links, or with idle ends."""
    if not has_fabric(s):
        return sent_at(s, source, r, q, end)
    bytes_s = crossing_s(s, source, r, s.number[Number.CACHE_BYTES] * known_tokens(s, q), now)
    layers = s.tally[Count.LAYERS]
    ready = end + bytes_s
    if layers > 1:
        ready = max(now + (end - now) / layers + bytes_s, end + bytes_s / layers)
    return ready + s.setup_s[source, r]


@compiled
def _group(s: State, r: int, source: int) -> int:
    """Return 0 for a replica that takes requests, more for those used only if there is no other."""
    group = 0 if s.replica[r, Replica.TURNING] == STAYS else 2
    if source >= 0 and not s.allowed[source, r]:
        group += 4
    return group if s.replica[r, Replica.UP] == 1 else group + 8


@compiled
def _next_in_turn(s: State, pool: int, source: int) -> int:
    counter = Count.TURN if pool == 0 else Count.TURN_OF_ANSWERS
    replicas = len(s.replica)
    best, best_group = -1, MOST_GROUP
    for i in range(replicas):
        r = (s.tally[counter] + i) % replicas
        if s.replica[r, Replica.POOL] == pool and _group(s, r, source) < best_group:
            best, best_group = r, _group(s, r, source)
    s.tally[counter] = best + 1
    return best


@compiled
def come(s: State, q: int, now: float) -> None:
    """Route a request without a cache."""
    aim(s, q)
    join(s, choose(s, 0, q, -1, now, now), q, now)
