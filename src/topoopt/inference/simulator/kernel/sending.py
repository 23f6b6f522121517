"""A cache is sent: to whom, and from when on its layers are on the way."""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.law import lag_s
from topoopt.inference.simulator.kernel.layout import (
    READING,
    SENT,
    TRANSFERRED,
    Clock,
    Count,
    Number,
    Replica,
    Request,
    State,
)
from topoopt.inference.simulator.kernel.queue import choose, known_tokens, leave, sent_at
from topoopt.inference.simulator.kernel.rows import schedule
from topoopt.inference.simulator.kernel.transfers import begin_flow, has_fabric


@compiled
def send_layers(s: State, r: int, now: float) -> None:
    """Send the layers of prompts that this step reads to their end, one after the other, meanwhile."""
    end = s.clock[r, Clock.END] + lag_s(s, r, 1, s.clock[r, Clock.END])
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        begun = s.request[q, Request.BEGUN]
        ends = s.request[q, Request.READ] + s.request[q, Request.PIECE] == s.request[q, Request.TARGET]
        over = s.request[q, Request.STEPS] + begun >= s.request[q, Request.TOTAL]
        if s.request[q, Request.PIECE] > 0 and ends and not over:
            tokens = known_tokens(s, q) + s.number[Number.ACCEPTED] * begun
            _begin_way(s, r, q, tokens, end, now)


@compiled
def send(s: State, r: int, q: int, end: float) -> None:
    """Send a cache, if its layers are not under way yet; its pages here are in use until it is there."""
    if s.request[q, Request.BOUND] == 0:
        _begin_way(s, r, q, known_tokens(s, q), end, s.clock[r, Clock.END])
    s.request[q, Request.STATE] = SENT
    leave(s, r, q)


@compiled
def _begin_way(s: State, r: int, q: int, tokens: float, end: float, now: float) -> None:
    """Choose a replica that answers for a prompt that is read at ``end``, and let its cache be on the way there."""
    to = choose(s, 1, q, r, end, now)
    s.request[q, Request.SOURCE] = r
    s.request[q, Request.REPLICA] = to
    s.request[q, Request.SOURCE_EPOCH] = s.replica[r, Replica.EPOCH]
    s.request[q, Request.EPOCH] = s.replica[to, Replica.EPOCH]
    s.request[q, Request.BOUND] = 1
    s.clock[to, Clock.LOAD] += tokens
    if has_fabric(s):
        starts = end
        if (
            s.request[q, Request.STATE] == READING
            and s.tally[Count.LAYERS] > 1
            and now < s.clock[r, Clock.END]
        ):
            starts = now + (end - now) / s.tally[Count.LAYERS]
        begin_flow(s, q, s.number[Number.CACHE_BYTES] * tokens, starts, end, now)
    else:
        ready = sent_at(s, r, to, q, end)
        s.clock[r, Clock.SENDING] = s.clock[to, Clock.RECEIVING] = ready - s.setup_s[r, to]
        schedule(s, ready, TRANSFERRED, q)
