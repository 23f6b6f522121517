"""Pages of keys and values: taken, kept as blocks of prefixes, evicted and given back."""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.layout import ABSENT, Count, Number, Pool, Replica, Request, State


@compiled
def pages_of(s: State, tokens: int) -> int:
    """Return the pages for ``tokens`` tokens."""
    page = s.tally[Count.PAGE]
    return (tokens + page - 1) // page


@compiled
def tokens_after(s: State, q: int, steps: int) -> int:
    """Return the cached tokens of a request after more decode steps; the last token is never cached."""
    made = s.number[Number.ACCEPTED] * steps
    whole = int(made)
    if whole < made:
        whole += 1
    return s.request[q, Request.INPUT] + min(whole, s.request[q, Request.OUTPUT] - 1)


@compiled
def held(s: State, q: int) -> int:
    """Return the pages that a request has, those of shared blocks among them."""
    return s.request[q, Request.PAGES] + s.request[q, Request.SHARED] * s.tally[Count.BLOCK_PAGES]


@compiled
def link_newest(s: State, r: int, block: int) -> None:
    """Append a block to the unused ones."""
    end = s.tally[Count.BLOCKS]
    last = s.older[r, end]
    s.newer[r, last] = block
    s.older[r, block] = last
    s.newer[r, block] = end
    s.older[r, end] = block


@compiled
def unlink(s: State, r: int, block: int) -> None:
    """Remove a block from the unused ones."""
    before, behind = s.older[r, block], s.newer[r, block]
    s.newer[r, before] = behind
    s.older[r, behind] = before


@compiled
def use(s: State, r: int, block: int) -> None:
    """Add a user to an existing block."""
    if s.users[r, block] == 0:
        unlink(s, r, block)
        s.replica[r, Replica.CACHED] -= s.tally[Count.BLOCK_PAGES]
        s.replica[r, Replica.USED] += s.tally[Count.BLOCK_PAGES]
    s.users[r, block] += 1


@compiled
def take(s: State, r: int, pages: int) -> None:
    """Allocate pages, if need be those of the least recently used blocks."""
    s.replica[r, Replica.USED] += pages
    room = s.pool[s.replica[r, Replica.POOL], Pool.PAGES]
    while s.replica[r, Replica.USED] + s.replica[r, Replica.CACHED] > room:
        oldest = s.newer[r, s.tally[Count.BLOCKS]]
        unlink(s, r, oldest)
        s.users[r, oldest] = ABSENT
        s.replica[r, Replica.CACHED] -= s.tally[Count.BLOCK_PAGES]
    s.replica[r, Replica.PEAK] = max(s.replica[r, Replica.PEAK], s.replica[r, Replica.USED])


@compiled
def matched(s: State, r: int, q: int) -> int:
    """Return the cached leading blocks of a prompt on a replica; at least one token remains to be prefilled."""
    if s.tally[Count.PREFIX] == 0:
        return 0
    first = s.block_first[q]
    most = min(
        s.block_first[q + 1] - first,
        (s.request[q, Request.INPUT] - 1) // (s.tally[Count.BLOCK_PAGES] * s.tally[Count.PAGE]),
    )
    found = 0
    while found < most and s.users[r, s.block[first + found]] != ABSENT:
        found += 1
    return found


@compiled
def keep_prefix(s: State, r: int, q: int) -> None:
    """Make blocks of a prefilled prompt; blocks that exist by now are stored once."""
    if s.tally[Count.PREFIX] == 0:
        return
    first = s.block_first[q]
    for place in range(first + s.request[q, Request.SHARED], s.block_first[q + 1]):
        block = s.block[place]
        if s.users[r, block] == ABSENT:
            s.users[r, block] = 1
        else:
            use(s, r, block)
            s.replica[r, Replica.USED] -= s.tally[Count.BLOCK_PAGES]
        s.request[q, Request.PAGES] -= s.tally[Count.BLOCK_PAGES]
        s.request[q, Request.SHARED] += 1


@compiled
def give_back(s: State, r: int, q: int) -> None:
    """Free all pages of a request; its blocks stay, the deepest to be evicted first."""
    s.replica[r, Replica.USED] -= s.request[q, Request.PAGES]
    s.request[q, Request.PAGES] = 0
    first = s.block_first[q]
    for place in range(s.request[q, Request.SHARED] - 1, -1, -1):
        block = s.block[first + place]
        s.users[r, block] -= 1
        if s.users[r, block] == 0:
            s.replica[r, Replica.USED] -= s.tally[Count.BLOCK_PAGES]
            s.replica[r, Replica.CACHED] += s.tally[Count.BLOCK_PAGES]
            link_newest(s, r, block)
    s.request[q, Request.SHARED] = 0


@compiled
def forget(s: State, r: int) -> None:
    """Lose all pages and blocks."""
    s.replica[r, Replica.USED] = 0
    s.replica[r, Replica.CACHED] = 0
    if s.tally[Count.PREFIX] == 1:
        end = s.tally[Count.BLOCKS]
        for block in range(end):
            s.users[r, block] = ABSENT
        s.newer[r, end] = end
        s.older[r, end] = end
