"""Rings, compiled: disjoint Hamiltonian cycles by trails that change sides, and a short closed tour.

Arrays of Hamiltonian cycles (int64)
------------------------------------
first (members + 1,)     CSR pointer: the cables at member v are ``first[v] : first[v + 1]``
cable, other (2 cables,) number of such a cable, and the member at its other end
color (cables,)          the set each cable is in, two of every member; spare cables are in ``sets``
cycles (sets, members)   members of each Hamiltonian cycle in the order of visit
state (1,)               of the random numbers: 48 bits of a linear congruence
walked, trail (cables,)  by which trail each cable was walked last; cables of a trail in the order of walking
has (members,)           cables of the present set at each member
label (sets + 3, members)  the cycle, 1 and up, that each member is on, in each set and in two drafts
row_of, cycles_of (sets + 1,)  the row of ``label`` of each set; its cycles
left, left_by (members, 2) where a trail left each member, by each side, and which trail it was

Arrays of a short tour
----------------------
cost : float64 (members, members)   cost of visiting the column's member right after the row's
order : int64 (members,)            the tour: members in the order of visit
taken : int64 (members,)            room to work in; enters as zeros
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, entry


class Cables(NamedTuple):
    """The cables between members, and the set of each."""

    first: Ints
    cable: Ints
    other: Ints
    color: Ints


class Room(NamedTuple):
    """Room to work in."""

    state: Ints
    walked: Ints
    trail: Ints
    has: Ints
    label: Ints
    row_of: Ints
    cycles_of: Ints
    left: Ints
    left_by: Ints


@entry
def hamiltonian_cycles(cables: Cables, room: Room, seed: int, budget: int, cycles: Ints) -> int:
    """Fill the first rows of ``cycles`` with disjoint Hamiltonian cycles, at most all; return how many.

    Every member has at least one cable. ``budget`` is the number of cables that may be walked.
    """
    sets, size = cycles.shape
    first, cable, other, color, count = cables.first, cables.cable, cables.other, cables.color, room.cycles_of
    for i in range(len(color)):
        color[i] = sets
    room.state[0] = seed * 2654435761 + 88172645463325252
    steps = _take_two_each(cables, room, sets, budget)
    if steps >= budget:
        return 0
    _merge_cycles(cables, room, sets, budget - steps)
    row = 0
    for c in range(sets):
        if count[c] == 1:
            v, came = (
                int(np.int64(0)),
                int(np.int64(-1)),
            )  # not a literal, for which another copy would be compiled
            for i in range(size):
                cycles[row, i] = v
                j = _next_on_cycle(first, cable, color, c, v, came)
                v, came = other[j], cable[j]
            row += 1
    return row


@compiled
def _take_two_each(cables: Cables, room: Room, sets: int, budget: int) -> int:
    """Add two spare cables of every member to each set; return the steps, ``budget`` or more if it fails.

    A member that lacks a cable starts a random trail, by turns over spare cables and over cables of the set.
    When a spare one leads to a member that lacks one too, all cables of the trail change sides.
    """
    first, cable, other, color = cables.first, cables.cable, cables.other, cables.color
    walked, trail, has, state = room.walked, room.trail, room.has, room.state
    size = len(first) - 1
    clear(walked)
    steps, trails = 0, 0
    for c in range(sets):
        clear(has)
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


@compiled
def _merge_cycles(cables: Cables, room: Room, sets: int, budget: int) -> None:
    """Merge the cycles of each set until it has one, and count how many each has.

    A closed trail that alternates between two sets changes sides, and back if there are more cycles now.
    """
    first, cable, other, color = cables.first, cables.cable, cables.other, cables.color
    walked, trail, state, label = room.walked, room.trail, room.state, room.label
    row_of, count, left, left_by = room.row_of, room.cycles_of, room.left, room.left_by
    size = len(first) - 1
    draft_a, draft_b = sets + 1, sets + 2
    clear(walked)
    clear(count)
    too_many = -sets
    row_of[sets] = sets
    for c in range(sets):
        row_of[c] = c
        count[c] = _label_cycles(first, cable, other, color, c, label, c)
        too_many += count[c]
    partners = sets if len(color) > sets * size else sets - 1
    for v in range(size):
        left_by[v, 0] = left_by[v, 1] = 0
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


@compiled
def _label_cycles(first: Ints, cable: Ints, other: Ints, color: Ints, c: int, label: Ints, row: int) -> int:
    """Number the cycles of a set from 1 and label the members with them; return how many there are."""
    size = label.shape[1]
    for v in range(size):
        label[row, v] = 0
    count = 0
    for start in range(size):
        v, came = start, int(np.int64(-1))
        if label[row, v] == 0:
            count += 1
        while label[row, v] == 0:
            label[row, v] = count
            j = _next_on_cycle(first, cable, color, c, v, came)
            v, came = other[j], cable[j]
    return count


@compiled
def _next_on_cycle(first: Ints, cable: Ints, color: Ints, c: int, v: int, came: int) -> int:
    """Return the index of the set's cable by which v is left after arriving over another one."""
    j = int(first[v])
    while color[cable[j]] != c or cable[j] == came:
        j += 1
    return j


@compiled
def _any_cable(
    first: Ints, cable: Ints, color: Ints, c: int, v: int, walked: Ints, trail: int, state: Ints
) -> int:
    """Return the index of a cable of the set at v that this trail has not used, -1 if there is none."""
    ports = first[v + 1] - first[v]
    turn = _below(ports, state)
    for i in range(ports):
        j = int(first[v] + (turn + i) % ports)
        if color[cable[j]] == c and walked[cable[j]] != trail:
            return j
    return -1


@compiled
def _below(limit: int, state: Ints) -> int:
    state[0] = (state[0] * 25214903917 + 11) & 0xFFFFFFFFFFFF
    return int((state[0] >> 16) % limit)


@compiled
def clear(array: Ints) -> None:
    """Set an array to zeros."""
    for i in range(len(array)):
        array[i] = 0


@entry
def short_tour(cost: Floats, start: int, symmetric: bool, order: Ints, taken: Ints) -> None:
    """Fill ``order`` with a short closed tour: nearest member first, then 2-opt if costs are symmetric."""
    size = len(cost)
    order[0] = start
    taken[start] = 1
    for i in range(1, size):
        here, nearest = order[i - 1], -1
        for other in range(size):
            if taken[other] == 0 and (nearest < 0 or cost[here, other] < cost[here, nearest]):
                nearest = other
        order[i] = nearest
        taken[nearest] = 1
    if symmetric:
        _two_opt(cost, order)


@compiled
def _two_opt(cost: Floats, order: Ints) -> None:
    """Reverse parts of the tour as long as that makes it shorter."""
    size = len(cost)
    improved = True
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
