"""Circulants and unions of lifted cycles with the fewest hops, compiled.

Server (o, r) is orbit o < m and element r of the integers mod g; all servers of an orbit have equal views, so that
breadth-first search from the m servers with r = 0 suffices, one bit for each of them.

Arrays
------
order, voltage : int64 (places,)       the orbits of each cycle in turn, and the increment of r to the next
first : int64 (cycles + 1,)            cycle c takes the places ``first[c] : first[c + 1]``
column : int64 (cycles,)               first column of ``near`` that a cycle fills: one of its own a factor
mate : int64 (orbits,) or (0,)         of an odd degree: the partner of each server in a matching, in the last column
near, shift : int64 (orbits, fibers)   the orbit from which a fiber comes, and the increment of r to the sender
old, new : uint64 (orbits * g * words,) bits of the sources that reached each server, 64 a word
kept : int64 (2, longest cycle)        room for a cycle as it was
state : uint64 (1,)                    of the random numbers

Arrays of circulants
--------------------
offsets : int32 (sets, steps)   candidate circulants: each row the steps, 0..size-1, a server has links along
                                (0 is allowed and does nothing)
met_by, queue : int32 (size,)   room to work in; ``met_by`` enters as -1
"""

from math import gcd
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Ints, Ints32, Words
from topoopt.base.kernel import compiled, entry, stamp, stamped, uniform

STAMP = stamp([])
_ONE, _TWO, _FOUR, _TOP = (np.uint64(shift) for shift in (1, 2, 4, 56))
_ODD, _PAIR, _HALF, _SUM = (
    np.uint64(pattern)
    for pattern in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


class Lift(NamedTuple):
    """Cycles on orbits, a matching where the degree is odd, and the fibers that they are.

    Where there is a matching, g is 1 and the first cycle 0, 1, 2, … stays: it is two matchings more, and either of
    them is one cycle with the third.
    """

    order: Ints
    voltage: Ints
    first: Ints
    column: Ints
    mate: Ints
    near: Ints
    shift: Ints


class Reach(NamedTuple):
    """Room of the search."""

    old: Words
    new: Words
    kept: Ints
    state: Words


@entry
@stamped(STAMP)
def anneal(
    lift: Lift,
    reach: Reach,
    group: int,
    duplex: bool,
    best: tuple[Ints, Ints, Ints],
    total: int,
    least: int,
    steps: int,
    hot: float,
    cooling: float,
) -> tuple[int, int, float, int]:
    """Run annealing steps from ``total`` hops; return the total, the least so far, the temperature, and the work.

    The work is the number of steps over all neighbors. ``best`` takes order, voltages and mates of the least. The
    threshold of Metropolis is drawn before a move is judged, so that a bad one is abandoned early.
    """
    work = int(np.int64(0))
    cycles = len(lift.first) - 1
    for _ in range(steps):
        hot *= cooling
        c, a, partner = _below(cycles, reach.state), int(np.int64(0)), int(np.int64(0))
        crossed = c == 0 and len(lift.mate) > 0
        if crossed:
            a, b = _below(len(lift.mate), reach.state), _below(len(lift.mate), reach.state)
            partner = lift.mate[a]
            if not _cross(lift, a, b):
                continue
        else:
            _keep(lift, reach.kept, c)
            if not _move(lift, reach.state, c, group):
                continue
            _lay(lift, c, group, duplex)
        threshold = total - hot * np.log(uniform(reach.state))
        hops, asked = _total_hops(lift.near, lift.shift, reach.old, reach.new, group, int(threshold))
        work += asked
        if hops < 0:
            if crossed:
                _pair(lift, a, partner)
            else:
                _restore(lift, reach.kept, c)
                _lay(lift, c, group, duplex)
            continue
        total = hops
        if total < least:
            least = total
            _copy_ints(best[0], lift.order)
            _copy_ints(best[1], lift.voltage)
            _copy_ints(best[2], lift.mate)
    return total, least, hot, work


@entry
@stamped(STAMP)
def make_hamiltonian(mate: Ints, state: Words, tries: int, seen: Ints) -> bool:
    """Exchange partners at random until the matching is one cycle with either half of 0, 1, 2, …; False if not."""
    parts = _all_parts(mate, 0, seen) + _all_parts(mate, 1, seen)
    size = len(mate)
    for _ in range(tries):
        if parts == 2:
            return True
        a, b = _below(size, state), _below(size, state)
        if a == b or mate[a] == b:
            continue
        c = mate[a]
        _swap_mates(mate, a, b)
        now = _all_parts(mate, 0, seen) + _all_parts(mate, 1, seen)
        if now <= parts:
            parts = now
        else:
            _swap_mates(mate, a, c)
    return parts == 2


@entry
def lay_all(lift: Lift, group: int, duplex: bool) -> None:
    """Fill ``near`` and ``shift`` by all cycles."""
    for c in range(len(lift.first) - 1):
        _lay(lift, c, group, duplex)
    for a in range(len(lift.mate)):
        lift.near[a, lift.near.shape[1] - 1] = lift.mate[a]
        lift.shift[a, lift.near.shape[1] - 1] = 0


@entry
def hops_of_levels(near: Ints, shift: Ints, old: Words, new: Words, group: int, reached: Ints) -> int:
    """Fill ``reached`` with the pairs at most 0, 1, 2, … hops apart; return the diameter, -1 where there is none."""
    orbits = near.shape[0]
    pairs = orbits * orbits * group
    _start(old, orbits, group)
    reached[0] = orbits
    for level in range(1, len(reached)):
        reached[level] = _spread(near, shift, old, new, group)
        if reached[level] == pairs:
            return level
        if reached[level] == reached[level - 1]:
            return -1
        old, new = new, old
    return -1


@compiled
def _total_hops(near: Ints, shift: Ints, old: Words, new: Words, group: int, most: int) -> tuple[int, int]:
    """Return the sum of hops from the sources, -1 once it must be above ``most``; and the number of hops evaluated.

    At every hop the pairs that are not yet reached count once more. No server has more new neighbors than fibers
    but the one it was reached by; so much must at least come.
    """
    orbits, fibers = near.shape
    pairs = orbits * orbits * group
    _start(old, orbits, group)
    here, hops = orbits, pairs - orbits
    fresh, asked = orbits, int(np.int64(0))
    while here < pairs:
        before = here
        asked += 1
        here = _spread(near, shift, old, new, group)
        if here == before:
            return -1, asked
        old, new = new, old
        hops += pairs - here
        fresh = here - before
        left, least = pairs - here, hops
        while left > 0:
            fresh *= fibers - 1 if fibers > 1 else 1
            left -= fresh
            if left > 0:
                least += left
        if least > most:
            return -1, asked
    return hops, asked


@compiled
def _start(reach: Words, orbits: int, group: int) -> None:
    for i in range(len(reach)):
        reach[i] = np.uint64(0)
    words = len(reach) // (orbits * group)
    for o in range(orbits):
        reach[o * group * words + (o >> 6)] = _ONE << np.uint64(o & 63)


@compiled
def _spread(near: Ints, shift: Ints, old: Words, new: Words, group: int) -> int:
    """Add to every server the sources that its neighbors had reached; return the number of reached pairs."""
    orbits, fibers = near.shape
    length = len(old) // orbits
    words = length // group
    count = 0
    for o in range(orbits):
        row = new[o * length : (o + 1) * length]
        _copy(row, old[o * length : (o + 1) * length])
        for k in range(fibers):
            begin = near[o, k] * length
            turn = shift[o, k] * words
            _or(row[: length - turn], old[begin + turn : begin + length])
            _or(row[length - turn :], old[begin : begin + turn])
        count += _bits(row)
    return count


@compiled
def _copy(into: Words, values: Words) -> None:
    for x in range(len(into)):
        into[x] = values[x]


@compiled
def _copy_ints(into: Ints, values: Ints) -> None:
    for x in range(len(into)):
        into[x] = values[x]


@compiled
def _or(into: Words, values: Words) -> None:
    for x in range(len(into)):
        into[x] |= values[x]


@compiled
def _bits(words: Words) -> int:
    count = np.uint64(0)
    for i in range(len(words)):
        x = words[i]
        x -= (x >> _ONE) & _ODD
        x = (x & _PAIR) + ((x >> _TWO) & _PAIR)
        x = (x + (x >> _FOUR)) & _HALF
        count += (x * _SUM) >> _TOP
    return int(np.int64(count))


@compiled
def _keep(lift: Lift, kept: Ints, c: int) -> None:
    begin = lift.first[c]
    for i in range(lift.first[c + 1] - begin):
        kept[0, i] = lift.order[begin + i]
        kept[1, i] = lift.voltage[begin + i]


@compiled
def _restore(lift: Lift, kept: Ints, c: int) -> None:
    begin = lift.first[c]
    for i in range(lift.first[c + 1] - begin):
        lift.order[begin + i] = kept[0, i]
        lift.voltage[begin + i] = kept[1, i]


@compiled
def _lay(lift: Lift, c: int, group: int, duplex: bool) -> None:
    begin, end, column = lift.first[c], lift.first[c + 1], lift.column[c]
    for i in range(begin, end):
        here, step = lift.order[i], lift.voltage[i]
        there = lift.order[i + 1 if i + 1 < end else begin]
        lift.near[there, column] = here
        lift.shift[there, column] = (group - step) % group
        if duplex:
            lift.near[here, column + 1] = there
            lift.shift[here, column + 1] = step


@compiled
def _cross(lift: Lift, a: int, b: int) -> bool:
    """Make a and b partners, and their old partners, too; False where that would be no cycle any more."""
    if a == b or lift.mate[a] == b:
        return False
    c = lift.mate[a]
    _swap_mates(lift.mate, a, b)
    if _parts(lift.mate, 0) > 1 or _parts(lift.mate, 1) > 1:
        _swap_mates(lift.mate, a, c)
        return False
    _swap_mates(lift.mate, a, c)
    _pair(lift, a, b)
    return True


@compiled
def _pair(lift: Lift, a: int, b: int) -> None:
    """Make a and b partners, and their old partners, and show it in the last column."""
    c, d = lift.mate[a], lift.mate[b]
    _swap_mates(lift.mate, a, b)
    last = lift.near.shape[1] - 1
    lift.near[a, last], lift.near[b, last], lift.near[c, last], lift.near[d, last] = b, a, d, c


@compiled
def _move(lift: Lift, state: Words, c: int, group: int) -> bool:
    """Change one cycle so that it stays one cycle of all; False where nothing was changed."""
    begin, size = lift.first[c], lift.first[c + 1] - lift.first[c]
    kind = _below(4 if group > 1 else 2, state)
    i, j = _below(size, state), _below(size, state)
    if kind < 2 and (size < 3 or i == j):
        return False
    if kind == 0:
        lift.order[begin + i], lift.order[begin + j] = lift.order[begin + j], lift.order[begin + i]
        return True
    if kind == 1:
        return _reverse(lift, state, begin, size, i, j, group)
    if kind == 2 and i != j:
        amount = 1 + _below(group - 1, state)
        lift.voltage[begin + i] = (lift.voltage[begin + i] + amount) % group
        lift.voltage[begin + j] = (lift.voltage[begin + j] + group - amount) % group
        return True
    return _redraw(lift, state, begin, size, i, group)


@compiled
def _reverse(lift: Lift, state: Words, begin: int, size: int, i: int, j: int, group: int) -> bool:
    """Reverse the stretch from place i to place j; the sum of all voltages stays."""
    length = (j - i + size) % size + 1
    if length > size - 1:
        return False
    order, voltage = lift.order, lift.voltage
    inner = 0
    for k in range(length // 2):
        a, b = begin + (i + k) % size, begin + (j - k + size) % size
        order[a], order[b] = order[b], order[a]
    steps = length - 1
    for k in range(steps):
        inner += voltage[begin + (i + k) % size]
    for k in range((steps + 1) // 2):
        a, b = begin + (i + k) % size, begin + (i + steps - 1 - k) % size
        voltage[a], voltage[b] = (group - voltage[b]) % group, (group - voltage[a]) % group
    before, after = begin + (i - 1 + size) % size, begin + j
    both = voltage[before] + voltage[after] + 2 * inner
    voltage[before] = _below(group, state)
    voltage[after] = (both - voltage[before] + group) % group
    return True


@compiled
def _redraw(lift: Lift, state: Words, begin: int, size: int, i: int, group: int) -> bool:
    others = -lift.voltage[begin + i]
    for k in range(size):
        others += lift.voltage[begin + k]
    for _ in range(64):
        drawn = _below(group, state)
        if gcd((others + drawn) % group, group) == 1:
            lift.voltage[begin + i] = drawn
            return True
    return False


@compiled
def _swap_mates(mate: Ints, a: int, b: int) -> None:
    c, d = mate[a], mate[b]
    mate[a], mate[b], mate[c], mate[d] = b, a, d, c


@compiled
def _parts(mate: Ints, odd: int) -> int:
    """Return 1 if the matching is one cycle with the cables 2i, 2i + 1 (2i + 1, 2i + 2 if odd), else 2."""
    size = len(mate)
    here, met = int(np.int64(0)), int(np.int64(0))
    while True:
        here = mate[here]
        up = (here + odd) % 2 == 0
        here = (here + (1 if up else size - 1)) % size
        met += 2
        if here == 0:
            return 1 if met == size else 2


@compiled
def _all_parts(mate: Ints, odd: int, seen: Ints) -> int:
    """Return the number of cycles of the matching with the cables 2i, 2i + 1 (2i + 1, 2i + 2 if odd)."""
    size, parts = len(mate), int(np.int64(0))
    for i in range(size):
        seen[i] = 0
    for start in range(size):
        if seen[start] == 0:
            parts += 1
            here = start
            while seen[here] == 0:
                seen[here] = 1
                here = mate[here]
                seen[here] = 1
                here = (here + (1 if (here + odd) % 2 == 0 else size - 1)) % size
    return parts


@compiled
def _below(most: int, state: Words) -> int:
    return int(uniform(state) * most)


@entry
def best_circulant(
    offsets: Ints32, diameter: int, total: int, met_by: Ints32, queue: Ints32
) -> tuple[int, int, int]:
    """Return (row, diameter, total hops) of the best circulant below the given bound, row -1 if none is.

    ``total`` is the sum of hops from one server to all others. A row is given up as soon as it cannot beat
    the best any more: if all servers not yet met were one hop beyond the current ones.
    """
    size, winner = len(met_by), -1
    for row in range(offsets.shape[0]):
        met_by[0] = row
        queue[0] = 0
        head, tail, hops, sum_hops = 0, 1, 0, 0
        beaten = False
        while head < tail < size:
            level_end = tail
            if hops + 1 > diameter or (
                hops + 1 == diameter and sum_hops + (size - tail) * (hops + 1) >= total
            ):
                beaten = True
                break
            hops += 1
            while head < level_end:
                here = queue[head]
                head += 1
                for c in range(offsets.shape[1]):
                    there = here + offsets[row, c]
                    if there >= size:
                        there -= size
                    if met_by[there] != row:
                        met_by[there] = row
                        queue[tail] = there
                        tail += 1
            sum_hops += hops * (tail - level_end)
        if not beaten and tail == size and (hops < diameter or (hops == diameter and sum_hops < total)):
            winner, diameter, total = row, hops, sum_hops
    return winner, diameter, total
