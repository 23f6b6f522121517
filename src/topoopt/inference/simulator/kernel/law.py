"""How long steps take: the tables of a pool, and the end of a row of steps in which nothing but answers is made."""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.layout import (
    DISAGGREGATED,
    Clock,
    Count,
    Grid,
    Law,
    Number,
    Pool,
    Replica,
    State,
)


@compiled
def looked_up(s: State, pool: int, column: int, tokens: float) -> float:
    """Return an entry of a pool's table, linear between those that there are, and beyond the last two."""
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
    """Return when so many steps in a row are over; each looks at what those before it have added to the caches."""
    pool = s.replica[r, Replica.POOL]
    more = s.number[Number.ACCEPTED] * s.replica[r, Replica.ANSWERED]
    tokens = steps * s.clock[r, Clock.TOKENS] + more * (steps * (steps - 1) // 2)
    caches_s = s.law[pool, Law.CACHED] / s.pool[pool, Pool.STAGES] * tokens
    return s.clock[r, Clock.BEGIN] + steps * s.clock[r, Clock.EACH] + caches_s


@compiled
def step_under_way(s: State, r: int, now: float) -> int:
    """Return which step of a row, from 1, ends now or is the first to end later."""
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
    """Return how much later than the next step may begin the last part of a step has left the pipeline."""
    pool = s.replica[r, Replica.POOL]
    stages = s.pool[pool, Pool.STAGES]
    if s.tally[Count.MODE] == DISAGGREGATED and pool == 0:
        return (stages - 1) * s.clock[r, Clock.EACH]
    before = s.clock[r, Clock.BEGIN] if steps == 1 else end_of_row(s, r, steps - 1)
    return (now - before) * (stages - 1) / stages
