"""Hot loops of the finder on plain arrays.

Arrays
------
offsets : int32 (sets, steps)   candidate circulants: each row the steps, 0..size-1, a server has links along
                                (0 is allowed and does nothing)
cost : float64 (members, members)   what it costs to visit the column's member right after the row's
order : int64 (members,)            a tour: members in the order of visit
first : int64 (members + 1,)        CSR pointer: the cables at member v are ``first[v] : first[v + 1]``
cable, other : int64 (2 cables,)    number of such a cable, and the member at its other end
color : int64 (cables,)             the set each cable is in, two of every member; spare cables are in ``sets``
label : int64 (rows, members)       the cycle, 1 and up, that each member is on, in each set and in two drafts
state : int64 (1,)                  of the random numbers: 48 bits of a linear congruence
cycles : int64 (sets, members)      members of each Hamiltonian cycle in the order of visit
demand : float64 (servers, servers) bytes that wait for a circuit from the row's server to the column's
src_free, dst_free : int64 (servers,)   ports left for circuits out of and into each server
circuits : int64 (servers, servers) circuits of each ordered pair
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def best_circulant(size: int, offsets: NDArray[np.int32], diameter: int, total: int) -> tuple[int, int, int]:
    """Return (row, diameter, total hops) of the best circulant below the given bound, row -1 if none is.

    ``total`` is the sum of hops from one server to all others. A row is given up as soon as it cannot beat
    the best any more: if all servers not yet met were one hop beyond the current ones.
    """
    met_by = np.full(size, -1, np.int32)
    queue = np.empty(size, np.int32)
    winner = -1
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


@njit(cache=True)
def short_tour(cost: NDArray[np.float64], start: int, symmetric: bool, order: NDArray[np.int64]) -> None:
    """Fill ``order`` with a short closed tour: nearest member first, then 2-opt if costs are symmetric."""
    size = len(cost)
    taken = np.zeros(size, np.bool_)
    order[0] = start
    taken[start] = True
    for i in range(1, size):
        here, nearest = order[i - 1], -1
        for other in range(size):
            if not taken[other] and (nearest < 0 or cost[here, other] < cost[here, nearest]):
                nearest = other
        order[i] = nearest
        taken[nearest] = True
    improved = symmetric
    while improved:
        improved = False
        for i in range(size - 2):
            a, b = order[i], order[i + 1]
            for j in range(i + 2, size):
                c, d = order[j], order[(j + 1) % size]
                if d != a and cost[a, c] + cost[b, d] < cost[a, b] + cost[c, d] - 1e-9:
                    left, right = i + 1, j
                    while left < right:
                        order[left], order[right] = order[right], order[left]
                        left += 1
                        right -= 1
                    b = order[i + 1]
                    improved = True


@njit(cache=True)
def hamiltonian_cycles(
    first: NDArray[np.int64],
    cable: NDArray[np.int64],
    other: NDArray[np.int64],
    seed: int,
    budget: int,
    cycles: NDArray[np.int64],
) -> int:
    """Fill the first rows of ``cycles`` with disjoint Hamiltonian cycles, at most all; return how many.

    Every member has at least one cable. ``budget`` is the number of cables that may be walked.
    """
    sets, size = cycles.shape
    color = np.empty(len(cable) // 2, np.int64)
    for i in range(len(color)):
        color[i] = sets
    state = np.empty(1, np.int64)
    state[0] = seed * 2654435761 + 88172645463325252
    steps = _take_two_each(first, cable, other, sets, budget, state, color)
    if steps >= budget:
        return 0
    count = _merge_cycles(first, cable, other, sets, budget - steps, state, color)
    found = 0
    for c in range(sets):
        if count[c] == 1:
            v, came = 0, -1
            for i in range(size):
                cycles[found, i] = v
                j = _next_on_cycle(first, cable, color, c, v, came)
                v, came = other[j], cable[j]
            found += 1
    return found


@njit(cache=True)
def _take_two_each(
    first: NDArray[np.int64],
    cable: NDArray[np.int64],
    other: NDArray[np.int64],
    sets: int,
    budget: int,
    state: NDArray[np.int64],
    color: NDArray[np.int64],
) -> int:
    """Put two spare cables of every member into each set; return the steps, ``budget`` or more if it fails.

    A member that lacks a cable starts a random trail, by turns over spare cables and over cables of the set.
    When a spare one leads to a member that lacks one too, all cables of the trail change sides.
    """
    size = len(first) - 1
    walked = np.zeros(len(color), np.int64)
    trail = np.empty(len(color), np.int64)
    steps, trails = 0, 0
    for c in range(sets):
        has = np.zeros(size, np.int64)
        start = 0
        while start < size and steps < budget:
            if has[start] == 2:
                start += 1
                continue
            has[start] += 1
            trails += 1
            v, length, turn, ended = start, 0, sets, False
            while not ended:
                j = _any_cable(first, cable, color, turn, v, walked, trails, state)
                if j < 0:
                    break
                v = other[j]
                walked[cable[j]] = trails
                trail[length] = cable[j]
                length += 1
                ended = turn == sets and has[v] < 2
                turn = c + sets - turn
            steps += length + 1
            if ended:
                has[v] += 1
                for i in range(length):
                    color[trail[i]] = c + sets - color[trail[i]]
            else:
                has[start] -= 1
    return steps


@njit(cache=True)
def _merge_cycles(
    first: NDArray[np.int64],
    cable: NDArray[np.int64],
    other: NDArray[np.int64],
    sets: int,
    budget: int,
    state: NDArray[np.int64],
    color: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Merge the cycles of each set until it has one; return how many each has.

    A closed trail that alternates between two sets changes sides, and back if there are more cycles now.
    """
    size = len(first) - 1
    label = np.zeros((sets + 3, size), np.int64)
    row_of = np.empty(sets + 1, np.int64)
    draft_a, draft_b = sets + 1, sets + 2
    count = np.zeros(sets + 1, np.int64)
    too_many = -sets
    row_of[sets] = sets
    for c in range(sets):
        row_of[c] = c
        count[c] = _label_cycles(first, cable, other, color, c, label, c)
        too_many += count[c]
    partners = sets if len(color) > sets * size else sets - 1
    walked = np.zeros(len(color), np.int64)
    trail = np.empty(len(color), np.int64)
    left = np.empty((size, 2), np.int64)
    left_by = np.zeros((size, 2), np.int64)
    steps, trails = 0, 0
    while partners > 0 and steps < budget and too_many > 0:
        a = _below(sets, state)
        while count[a] == 1:
            a = (a + 1) % sets
        b = _below(partners, state)
        if b >= a:
            b += 1
        # A start on a cycle drawn by lot: a small one is found as often as a large one.
        cycle = 1 + _below(count[a], state)
        v = _below(size, state)
        while label[row_of[a], v] != cycle:
            v = (v + 1) % size
        trails += 1
        length, side, begin = 0, 0, -1
        while begin < 0:
            if left_by[v, side] != trails:
                left_by[v, side] = trails
                left[v, side] = length
            j = _any_cable(first, cable, color, b if side else a, v, walked, trails, state)
            if j < 0:
                break
            v = other[j]
            walked[cable[j]] = trails
            trail[length] = cable[j]
            length += 1
            side = 1 - side
            if left_by[v, side] == trails:
                begin = left[v, side]
        steps += length + 2 * size
        if begin < 0:
            continue
        for i in range(begin, length):
            color[trail[i]] = a + b - color[trail[i]]
        count_a = _label_cycles(first, cable, other, color, a, label, draft_a)
        count_b = _label_cycles(first, cable, other, color, b, label, draft_b) if b < sets else 0
        more = count_a + count_b - count[a] - count[b]
        if more <= 0:
            too_many += more
            count[a], count[b] = count_a, count_b
            row_of[a], draft_a = draft_a, row_of[a]
            row_of[b], draft_b = draft_b, row_of[b]
        else:
            for i in range(begin, length):
                color[trail[i]] = a + b - color[trail[i]]
    return count


@njit(cache=True)
def _label_cycles(
    first: NDArray[np.int64],
    cable: NDArray[np.int64],
    other: NDArray[np.int64],
    color: NDArray[np.int64],
    c: int,
    label: NDArray[np.int64],
    row: int,
) -> int:
    """Number the cycles of a set from 1 and label the members with them; return how many there are."""
    size = label.shape[1]
    for v in range(size):
        label[row, v] = 0
    count = 0
    for start in range(size):
        v, came = start, -1
        if label[row, v] == 0:
            count += 1
        while label[row, v] == 0:
            label[row, v] = count
            j = _next_on_cycle(first, cable, color, c, v, came)
            v, came = other[j], cable[j]
    return count


@njit(cache=True)
def _next_on_cycle(
    first: NDArray[np.int64], cable: NDArray[np.int64], color: NDArray[np.int64], c: int, v: int, came: int
) -> int:
    """Return where the set's cable stands by which v is left after coming over another one."""
    j = first[v]
    while color[cable[j]] != c or cable[j] == came:
        j += 1
    return j


@njit(cache=True)
def _any_cable(
    first: NDArray[np.int64],
    cable: NDArray[np.int64],
    color: NDArray[np.int64],
    c: int,
    v: int,
    walked: NDArray[np.int64],
    trail: int,
    state: NDArray[np.int64],
) -> int:
    """Return where a cable of the set at v stands that this trail has not walked, -1 if there is none."""
    ports = first[v + 1] - first[v]
    turn = _below(ports, state)
    for i in range(ports):
        j = first[v] + (turn + i) % ports
        if color[cable[j]] == c and walked[cable[j]] != trail:
            return j
    return -1


@njit(cache=True)
def _below(limit: int, state: NDArray[np.int64]) -> int:
    """Return a random number in 0 .. limit - 1."""
    state[0] = (state[0] * 25214903917 + 11) & 0xFFFFFFFFFFFF
    return (state[0] >> 16) % limit


@njit(cache=True)
def _neediest(
    src: int, demand: NDArray[np.float64], src_free: NDArray[np.int64], dst_free: NDArray[np.int64]
) -> int:
    """Return the destination of most demand from ``src`` with a port left, the first of equals, or -1."""
    best, most = -1, 0.0
    if src_free[src] > 0:
        for dst in range(len(demand)):
            if demand[src, dst] > most and dst_free[dst] > 0:
                best, most = dst, demand[src, dst]
    return best


@njit(cache=True)
def take_circuits(
    demand: NDArray[np.float64],
    src_free: NDArray[np.int64],
    dst_free: NDArray[np.int64],
    circuits: NDArray[np.int64],
) -> None:
    """Give the pair of most demand a circuit and halve its demand, until ports or demand run out.

    Of equal pairs the first in order of (src, dst). One array for both ``free`` serves duplex circuits, with
    demand above the diagonal only. Changes all its arguments.
    """
    servers = len(demand)
    best = np.empty(servers, np.int64)
    for src in range(servers):
        best[src] = _neediest(src, demand, src_free, dst_free)
    while True:
        src, most = -1, 0.0
        for row in range(servers):
            if best[row] < 0:
                continue
            if src_free[row] == 0 or dst_free[best[row]] == 0:
                best[row] = _neediest(row, demand, src_free, dst_free)
            if best[row] >= 0 and demand[row, best[row]] > most:
                src, most = row, demand[row, best[row]]
        if src < 0:
            return
        dst = best[src]
        circuits[src, dst] += 1
        src_free[src] -= 1
        dst_free[dst] -= 1
        demand[src, dst] *= 0.5
        best[src] = _neediest(src, demand, src_free, dst_free)
