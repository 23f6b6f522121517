"""Steps in a row: as long as nothing but answers is made they go by together, unless something comes in between."""

from topoopt.base.kernel import compiled, push
from topoopt.inference.simulator.kernel.law import end_of_row, step_under_way
from topoopt.inference.simulator.kernel.layout import (
    ANSWERING,
    IDLE,
    SHIFT,
    Clock,
    Count,
    Pool,
    Replica,
    Request,
    State,
)
from topoopt.inference.simulator.kernel.pages import held, pages_of, take, tokens_after


@compiled
def schedule(s: State, when: float, kind: int, which: int) -> None:
    """Put an event into the heap."""
    s.tally[Count.HEAP] = push(s.keys, s.codes, s.tally[Count.HEAP], when, (kind << SHIFT) | which)


@compiled
def more_pages(s: State, r: int, steps: int) -> int:
    """Return the pages that all requests which are answered need for so many more steps, beyond those they have."""
    more = 0
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            tokens = tokens_after(s, q, s.request[q, Request.STEPS] + steps)
            more += max(pages_of(s, tokens) - held(s, q), 0)
    return more


@compiled
def affordable_row(s: State, r: int) -> int:
    """Return how many steps can go by together: until the first request is answered, or pages run out."""
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
    """Take the pages of the first steps of a row."""
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            tokens = tokens_after(s, q, s.request[q, Request.STEPS] + steps)
            more = max(pages_of(s, tokens) - held(s, q), 0)
            s.request[q, Request.PAGES] += more
            take(s, r, more)


@compiled
def shorten(s: State, r: int, now: float) -> None:
    """Let a row of steps end with the one under way, because somebody came."""
    if s.replica[r, Replica.BUSY] == IDLE or s.replica[r, Replica.ROW] <= 1:
        return
    steps = step_under_way(s, r, now)
    if steps < s.replica[r, Replica.ROW]:
        s.replica[r, Replica.ROW] = steps
        s.clock[r, Clock.END] = end_of_row(s, r, steps)
