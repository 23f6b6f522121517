"""Steps in a row: steps that only decode are advanced together, unless an event comes in between."""

from topoopt.base.kernel import compiled, push
from topoopt.inference.simulator.kernel.layout import (
    ANSWERING,
    DISAGGREGATED,
    IDLE,
    SHIFT,
    Clock,
    Count,
    Grid,
    Law,
    Number,
    Pool,
    Replica,
    Request,
    State,
)
from topoopt.inference.simulator.kernel.pages import held, pages_of, take, tokens_after


@compiled
def schedule(s: State, when: float, kind: int, which: int) -> None:
    """Push an event to the heap."""
    s.tally[Count.HEAP] = push(s.keys, s.codes, s.tally[Count.HEAP], when, (kind << SHIFT) | which)


@compiled
def more_pages(s: State, r: int, steps: int) -> int:
    """Return the additional pages that all decoding requests need for this many steps."""
    more = 0
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            tokens = tokens_after(s, q, s.request[q, Request.STEPS] + steps)
            more += max(pages_of(s, tokens) - held(s, q), 0)
    return more


@compiled
def affordable_row(s: State, r: int) -> int:
    """Return the number of steps that can be merged: until the first request is done, or pages run out."""
    steps = 1 << 40
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            steps = min(steps, s.request[q, Request.TOTAL] - s.request[q, Request.STEPS])
    free = s.pool[s.replica[r, Replica.POOL], Pool.PAGES] - s.replica[r, Replica.USED]
    if more_pages(s, r, steps) <= free:
        return steps
    low, high = 1, steps - 1
    while low < high:
        middle = (low + high + 1) // 2
        if more_pages(s, r, middle) <= free:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def commit(s: State, r: int, steps: int) -> None:
    """Allocate the pages of the first steps of a row."""
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            tokens = tokens_after(s, q, s.request[q, Request.STEPS] + steps)
            more = max(pages_of(s, tokens) - held(s, q), 0)
            s.request[q, Request.PAGES] += more
            take(s, r, more)


@compiled
def shorten(s: State, r: int, now: float) -> None:
    """End a row of steps with the present one, because of an arrival."""
    if s.replica[r, Replica.BUSY] == IDLE or s.replica[r, Replica.ROW] <= 1:
        return
    steps = step_under_way(s, r, now)
    if steps < s.replica[r, Replica.ROW]:
        s.replica[r, Replica.ROW] = steps
        s.clock[r, Clock.END] = end_of_row(s, r, steps)


@compiled
def looked_up(s: State, pool: int, column: int, tokens: float) -> float:
    """Return an entry of a pool's table, interpolated linearly, and extrapolated from the last two."""
    low, high = s.pool[pool, Pool.FIRST], s.pool[pool, Pool.BEYOND] - 1
    if tokens <= s.grid[low, Grid.TOKENS] or low == high:
        return s.grid[low, column]
    high -= 1
    while low < high:
        middle = (low + high + 1) // 2
        if s.grid[middle, Grid.TOKENS] <= tokens:
            low = middle
        else:
            high = middle - 1
    width = s.grid[low + 1, Grid.TOKENS] - s.grid[low, Grid.TOKENS]
    return s.grid[low, column] + (tokens - s.grid[low, Grid.TOKENS]) * (
        (s.grid[low + 1, column] - s.grid[low, column]) / width
    )


@compiled
def end_of_row(s: State, r: int, steps: int) -> float:
    """Return the end of a row of steps; each one sees the caches grown by the steps before."""
    pool = s.replica[r, Replica.POOL]
    more = s.number[Number.ACCEPTED] * s.replica[r, Replica.ANSWERED]
    tokens = steps * s.clock[r, Clock.TOKENS] + more * (steps * (steps - 1) // 2)
    caches_s = s.law[pool, Law.CACHED] / s.pool[pool, Pool.STAGES] * tokens
    return s.clock[r, Clock.BEGIN] + steps * s.clock[r, Clock.EACH] + caches_s


@compiled
def step_under_way(s: State, r: int, now: float) -> int:
    """Return the number of the step, from 1, that ends now or next."""
    low, high = 1, s.replica[r, Replica.ROW]
    while low < high:
        middle = (low + high) // 2
        if end_of_row(s, r, middle) >= now:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def lag_s(s: State, r: int, steps: int, now: float) -> float:
    """Return the time from the possible start of the next step until the last part has left the pipeline."""
    pool = s.replica[r, Replica.POOL]
    stages = s.pool[pool, Pool.STAGES]
    if s.tally[Count.MODE] == DISAGGREGATED and pool == 0:
        return (stages - 1) * s.clock[r, Clock.EACH]
    before = s.clock[r, Clock.BEGIN] if steps == 1 else end_of_row(s, r, steps - 1)
    return (now - before) * (stages - 1) / stages
