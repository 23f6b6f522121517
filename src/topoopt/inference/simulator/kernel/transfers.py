"""Cache transfers over the links of a fabric: max-min fair rates, and the times of their changes.

A flow is a request's cache. It begins when its first layer is prefilled, and is limited by the rate of prefill until
the last one, and by the rate of its pair alone. All rates rise together until a link is full or a flow reaches its
limit; those stay, the others rise further (progressive filling, as in ``simulation/fluid``, where classes of flows
have one rate; here each flow has its own limit).
"""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.layout import NEVER, TRANSFERRED, Count, Flow, Number, Request, State
from topoopt.inference.simulator.kernel.rows import schedule

TIE = 1.0 + 1e-12
"""Factor within which two shares, or two ends, are equal."""


@compiled
def has_fabric(s: State) -> bool:
    """Return whether caches cross links that are known; else there are ends only."""
    return s.tally[Count.LINKS] >= 0


@compiled
def way_of(s: State, source: int, end: int) -> int:
    """Return the row of ``way_first`` of a pair."""
    return source * len(s.replica) + end


@compiled
def begin_flow(s: State, q: int, size: float, starts: float, lifts: float, now: float) -> None:
    """Start the transfer of a request's cache at one time; all of its layers are available from another on."""
    flow_until(s, now)
    source, end = s.request[q, Request.SOURCE], s.request[q, Request.REPLICA]
    s.flow[q, Flow.LEFT] = size
    s.flow[q, Flow.RATE] = 0.0
    s.flow[q, Flow.CEILING] = s.bytes_per_s[source, end]
    s.flow[q, Flow.READING] = NEVER
    if lifts > starts:
        layers = s.tally[Count.LAYERS]
        s.flow[q, Flow.READING] = size * ((layers - 1) / layers) / (lifts - starts)
    s.flow[q, Flow.STARTS] = starts
    s.flow[q, Flow.LIFTS] = lifts
    s.flow[q, Flow.ENDS] = NEVER
    s.flowing[s.tally[Count.FLOWING]] = q
    s.tally[Count.FLOWING] += 1
    s.tally[Count.UNSHARED] = 1


@compiled
def flow_until(s: State, now: float) -> None:
    """Advance all flows at their rates to the current time."""
    seconds = now - s.number[Number.CROSSED]
    if seconds > 0.0:
        for i in range(s.tally[Count.FLOWING]):
            q = s.flowing[i]
            s.flow[q, Flow.LEFT] = max(s.flow[q, Flow.LEFT] - s.flow[q, Flow.RATE] * seconds, 0.0)
        s.number[Number.CROSSED] = now


@compiled
def end_flows(s: State, now: float) -> None:
    """End complete flows: their caches arrive when the setup of the transfer is over, too."""
    flow_until(s, now)
    kept = 0
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        if s.flow[q, Flow.ENDS] <= now * TIE:
            setup_s = s.setup_s[s.request[q, Request.SOURCE], s.request[q, Request.REPLICA]]
            schedule(s, now + setup_s, TRANSFERRED, q)
        else:
            s.flowing[kept] = q
            kept += 1
    s.tally[Count.FLOWING] = kept
    s.tally[Count.UNSHARED] = 1


@compiled
def drop_flow(s: State, place: int, now: float) -> None:
    """Remove a flow from the links."""
    flow_until(s, now)
    for i in range(place + 1, s.tally[Count.FLOWING]):
        s.flowing[i - 1] = s.flowing[i]
    s.tally[Count.FLOWING] -= 1
    s.tally[Count.UNSHARED] = 1


@compiled
def change_link(s: State, m: int, outages: int, now: float) -> None:
    """Change the number of outages of a link by one."""
    flow_until(s, now)
    s.down[m] += outages
    s.capacity[m] = s.whole[m] if s.down[m] == 0 else 0.0
    s.tally[Count.UNSHARED] = 1


@compiled
def share_links(s: State, now: float) -> None:
    """Set the rates of all flows, and the moment at which they change next."""
    flow_until(s, now)
    s.tally[Count.UNSHARED] = 0
    rising, low = _begin_to_rise(s, now), 0.0
    while rising > 0:
        low = max(low, _next_level(s, now))
        rising -= _freeze(s, low, now)  # one at least: the lowest
    s.number[Number.NEXT] = NEVER
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        if s.flow[q, Flow.STARTS] > now:
            change = s.flow[q, Flow.STARTS]
        else:
            change = NEVER
            if s.flow[q, Flow.RATE] > 0.0:
                change = now + s.flow[q, Flow.LEFT] / s.flow[q, Flow.RATE]
            s.flow[q, Flow.ENDS] = change
            if s.flow[q, Flow.LIFTS] > now:
                change = min(change, s.flow[q, Flow.LIFTS])
        s.number[Number.NEXT] = min(s.number[Number.NEXT], change)


@compiled
def _begin_to_rise(s: State, now: float) -> int:
    """Mark all started flows as rising; return their number."""
    rising = 0
    for i in range(s.tally[Count.FLOWING]):
        way = _way(s, s.flowing[i])
        for e in range(s.way_first[way], s.way_first[way + 1]):
            s.left[s.way_link[e]] = s.capacity[s.way_link[e]]
            s.slope[s.way_link[e]] = 0.0
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        s.flow[q, Flow.RATE] = 0.0
        if s.flow[q, Flow.STARTS] <= now:
            s.flow[q, Flow.RATE] = -1.0
            rising += 1
            way = _way(s, q)
            for e in range(s.way_first[way], s.way_first[way + 1]):
                s.slope[s.way_link[e]] += s.way_share[e]
    return rising


@compiled
def _next_level(s: State, now: float) -> float:
    """Return the lowest rate that a link or a ceiling leaves to the rising flows."""
    low = NEVER
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        if s.flow[q, Flow.RATE] < 0.0:
            low = min(low, _own_limit(s, q, now))
    return low


@compiled
def _own_limit(s: State, q: int, now: float) -> float:
    """Return the lowest rate that its ceilings, or links as they are filled now, leave to a flow."""
    low = s.flow[q, Flow.CEILING]
    if s.flow[q, Flow.LIFTS] > now:
        low = min(low, s.flow[q, Flow.READING])
    way = _way(s, q)
    for e in range(s.way_first[way], s.way_first[way + 1]):
        low = min(low, s.left[s.way_link[e]] / s.slope[s.way_link[e]])
    return low


@compiled
def _freeze(s: State, low: float, now: float) -> int:
    """Freeze the flows that have reached their limit at a rate; return their number."""
    frozen = 0
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        if s.flow[q, Flow.RATE] < 0.0 and _own_limit(s, q, now) <= low * TIE:
            s.flow[q, Flow.RATE] = -2.0
            frozen += 1
    for i in range(s.tally[Count.FLOWING]):
        q = s.flowing[i]
        if s.flow[q, Flow.RATE] == -2.0:
            s.flow[q, Flow.RATE] = low
            way = _way(s, q)
            for e in range(s.way_first[way], s.way_first[way + 1]):
                s.left[s.way_link[e]] -= s.way_share[e] * low
                s.slope[s.way_link[e]] -= s.way_share[e]
    return frozen


@compiled
def _way(s: State, q: int) -> int:
    return way_of(s, s.request[q, Request.SOURCE], s.request[q, Request.REPLICA])


@compiled
def crossing_s(s: State, source: int, end: int, size: float, now: float) -> float:
    """Return the time of a cache on the fullest link of its route, with the present transfers.

    Each other flow adds as many bytes as it has left, or as the cache itself has if that is less: exact where all
    share one link and no more come.
    """
    flow_until(s, now)
    longest_s = size / s.bytes_per_s[source, end]
    way = way_of(s, source, end)
    for e in range(s.way_first[way], s.way_first[way + 1]):
        m = s.way_link[e]
        own = s.way_share[e] * size
        together = own
        for i in range(s.tally[Count.FLOWING]):
            q = s.flowing[i]
            other = _way(s, q)
            for f in range(s.way_first[other], s.way_first[other + 1]):
                if s.way_link[f] == m:
                    together += min(s.way_share[f] * s.flow[q, Flow.LEFT], own)
        longest_s = max(longest_s, together / s.capacity[m] if s.capacity[m] > 0.0 else NEVER)
    return longest_s
