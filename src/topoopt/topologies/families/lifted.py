"""Lifted unions of Hamiltonian cycles: few hops, every AllReduce ring at full bandwidth, and a symmetry to count on."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible
from topoopt.topologies.direct_wiring import DirectWiring, WiredRing
from topoopt.topologies.families.lifted_kernel import (
    Lift,
    Reach,
    anneal,
    hops_of_levels,
    lay_all,
    make_hamiltonian,
)
from topoopt.topologies.metrics import moore_histogram

Tick = Callable[[float], None]
"""Called now and then with the seconds of search that were spent since the last call."""

_CHUNK_S = 0.1
_PILOT, _LEVELS = 64, 8  # steps that say how long one takes; hops that one looks at
_SPREAD_S, _WORD_S, _STEP_S, _PLACE_S = 7e-9, 0.1e-9, 2e-7, 5e-9
"""Costs of one neighbor, one of its words, a step, and a place of a cycle, measured on a 2020 core."""
_HOT, _COOLS = 24.0, 1 / 16
"""Hops of all pairs, of 128 servers, that a move may cost with probability 1/e at first; and the fraction at the
end.

Measured best of 12 to 120, for 3, 4 and 8 interfaces; it grows with the root of the servers, for 1,024 and 4,096.
"""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C within a search, with the best wiring so far."""

    def __init__(self, wiring: DirectWiring) -> None:
        super().__init__()
        self.wiring = wiring


@dataclass(frozen=True, slots=True)
class LiftShape:
    """Search space: the parameters that all unions of cycles in one search share.

    Attributes
    ----------
    group : int
        Repetitions of every fiber, a divisor of the servers; 1 for an odd degree.
    ring_group : int
        If above 0, the first factor consists of one cycle per group of this many consecutive servers.
    """

    servers: int
    degree: int
    links: str = "duplex"
    group: int = 1
    ring_group: int = 0

    @property
    def orbits(self) -> int:
        """Number of orbits."""
        return self.servers // self.group

    @property
    def cycles(self) -> int:
        """Number of factors that are cycles."""
        return self.degree // 2 if self.links == "duplex" else self.degree

    @property
    def has_matching(self) -> bool:
        """Whether cables in pairs leave an interface idle."""
        return self.links == "duplex" and self.degree % 2 == 1

    def spread_s(self) -> float:
        """Return the approximate time of one step over all neighbors."""
        words = self.group * -(-self.orbits // 64)
        return self.orbits * (self.degree + 1) * (_SPREAD_S + words * _WORD_S)


def lifted(
    shape: LiftShape, seed: int, search_s: float = 0.0, tick: Tick = lambda spent_s: None
) -> DirectWiring:
    """Return a union of Hamiltonian cycles, annealed on the hops of all pairs for about ``search_s`` seconds.

    A cycle is an order p of the orbits and voltages v: (p_i, r) is joined to (p_{i+1}, r + v_i). It is one
    Hamiltonian cycle of all servers where the sum of its voltages has no factor in common with the group, which
    every move keeps. Of an odd degree the last three interfaces are a cycle and a matching that makes one cycle with
    either half of it. The seconds are counted in work done, not on a clock: equal input gives equal wirings.

    Raises
    ------
    Infeasible
        If no such matching was found.
    SearchInterrupted
        For a Ctrl-C, with the best so far.

    References
    ----------
    .. [1] J. L. Gross, T. W. Tucker, "Topological Graph Theory", 1987, chapter 2 (voltage graphs).
    """
    rng = np.random.default_rng((seed, shape.servers, shape.degree, shape.group))
    places, factors, orders = [], [], []
    for factor in range(shape.cycles):
        blocks = shape.orbits // shape.ring_group if factor == 0 and shape.ring_group else 1
        size = shape.orbits // blocks
        for block in range(blocks):
            keeps_order = factor == 0 and shape.has_matching
            orders.append(block * size + (np.arange(size) if keeps_order else rng.permutation(size)))
            places.append(size)
            factors.append(factor)
    order = np.concatenate(orders).astype(np.int64)
    voltage = rng.integers(0, shape.group, len(order))
    first = np.concatenate(([0], np.cumsum(places)))
    for begin, end in itertools.pairwise(first.tolist()):
        while math.gcd(int(voltage[begin:end].sum()), shape.group) > 1:
            voltage[begin] = rng.integers(0, shape.group)
    mate = _matching(shape, rng) if shape.has_matching else np.empty(0, np.int64)
    lift = _laid(shape, order, voltage, places, factors, mate)
    if search_s > _PILOT * _LEVELS * shape.spread_s() and shape.servers > 3:
        try:
            _anneal(shape, lift, rng, search_s, tick)
        except KeyboardInterrupt:
            raise SearchInterrupted(_wiring(shape, lift)) from None
    return _wiring(shape, lift)


def lifted_of(
    servers: int,
    orders: Sequence[Sequence[int]],
    voltages: Sequence[Sequence[int]],
    links: str = "duplex",
    matching: Sequence[int] = (),
) -> DirectWiring:
    """Return the union of cycles that are given: the order of the orbits and the voltages of each.

    With an odd degree, the first cycle is 0, 1, 2, … and the matching gives the partner of each server.
    """
    orbits = len(orders[0])
    degree = len(orders) * (2 if links == "duplex" else 1) + (1 if matching else 0)
    shape = LiftShape(servers, degree, links, servers // orbits)
    places = np.concatenate([np.array(order, np.int64) for order in orders])
    steps = np.concatenate([np.array(steps, np.int64) for steps in voltages]) % shape.group
    lift = _laid(
        shape, places, steps, [orbits] * len(orders), range(len(orders)), np.array(matching, np.int64)
    )
    return _wiring(shape, lift)


@dataclass(slots=True)
class _State:
    lift: Lift
    reach: Reach
    best: tuple[Ints, Ints, Ints]
    total: int
    least: int


def _laid(
    shape: LiftShape, order: Ints, voltage: Ints, places: Sequence[int], factors: Sequence[int], mate: Ints
) -> Lift:
    first = np.concatenate(([0], np.cumsum(places))).astype(np.int64)
    column = np.array(factors, np.int64) * (2 if shape.links == "duplex" else 1)
    near, shift = np.zeros((2, shape.orbits, shape.degree), np.int64)
    lift = Lift(order, voltage, first, column, mate, near, shift)
    lay_all(lift, shape.group, shape.links == "duplex")
    return lift


def _matching(shape: LiftShape, rng: np.random.Generator) -> Ints:
    """Return partners such that the matching is one cycle with either half of the cycle 0, 1, 2, …"""
    ends = rng.permutation(shape.servers)
    mate = np.empty(shape.servers, np.int64)
    mate[ends[::2]], mate[ends[1::2]] = ends[1::2], ends[::2]
    state = np.array([rng.integers(1, 2**62)], np.uint64)
    if not make_hamiltonian(mate, state, 100_000, np.empty(shape.servers, np.int64)):
        raise Infeasible(f"lifted: found no three matchings of {shape.servers} servers; try another seed")
    return mate


def _anneal(shape: LiftShape, lift: Lift, rng: np.random.Generator, search_s: float, tick: Tick) -> None:
    """Anneal for about ``search_s`` seconds of work; ``lift`` then holds the best result."""
    state = _searched(shape, lift, rng)
    hot = _HOT * math.sqrt(shape.servers / 128)
    total, least, _, work = _steps(shape, state, _PILOT, hot, 1.0)
    step_s = _cost_s(shape, work, _PILOT) / _PILOT
    steps = max(1, int(search_s / step_s))
    chunk = max(1, min(steps, int(_CHUNK_S / step_s)))
    cooling = _COOLS ** (1 / steps)
    state.total, state.least, spent_s, done = total, least, 0.0, 0
    # moore's bound on what is searched for: hops from a server of each orbit to all others
    near = moore_histogram(shape.servers, shape.degree, shape.links)
    fewest = shape.orbits * sum(hops * servers for hops, servers in enumerate(near, start=1))
    try:
        while done < steps and spent_s < search_s and state.least > fewest:
            state.total, state.least, hot, work = _steps(shape, state, min(chunk, steps - done), hot, cooling)
            done += chunk
            cost_s = _cost_s(shape, work, chunk)
            spent_s += cost_s
            tick(cost_s)
    finally:
        for best, now in zip(state.best, (lift.order, lift.voltage, lift.mate), strict=True):
            now[:] = best
        lay_all(lift, shape.group, shape.links == "duplex")


def _searched(shape: LiftShape, lift: Lift, rng: np.random.Generator) -> _State:
    old, new = np.empty((2, shape.servers * -(-shape.orbits // 64)), np.uint64)
    kept = np.empty((2, int(np.diff(lift.first).max())), np.int64)
    reach = Reach(old, new, kept, np.array([rng.integers(1, 2**62)], np.uint64))
    reached = np.zeros(shape.servers + 1, np.int64)
    diameter = hops_of_levels(lift.near, lift.shift, old, new, shape.group, reached)
    total = int((shape.orbits * shape.servers - reached[:diameter]).sum())
    return _State(lift, reach, (lift.order.copy(), lift.voltage.copy(), lift.mate.copy()), total, total)


def _steps(
    shape: LiftShape, state: _State, steps: int, hot: float, cooling: float
) -> tuple[int, int, float, int]:
    duplex = shape.links == "duplex"
    found: tuple[int, int, float, int] = anneal(
        state.lift,
        state.reach,
        shape.group,
        duplex,
        state.best,
        state.total,
        state.least,
        steps,
        hot,
        cooling,
    )
    return found


def _cost_s(shape: LiftShape, work: int, steps: int) -> float:
    return work * shape.spread_s() + steps * (_STEP_S + shape.orbits * _PLACE_S)


def _wiring(shape: LiftShape, lift: Lift) -> DirectWiring:
    cycles = [slice(begin, end) for begin, end in zip(lift.first[:-1], lift.first[1:], strict=True)]
    recipe = {
        "group": shape.group,
        "orbits": [lift.order[cycle].tolist() for cycle in cycles],
        "voltages": [lift.voltage[cycle].tolist() for cycle in cycles],
    }
    if shape.ring_group:
        recipe["ring_group"] = shape.ring_group
    if shape.has_matching:
        recipe["matching"] = lift.mate.tolist()
    whole = [cycle for cycle in cycles if cycle.stop - cycle.start == shape.orbits]
    rings = [WiredRing(_walk(shape, lift.order[cycle], lift.voltage[cycle])) for cycle in whole]
    if shape.has_matching:
        halves = [WiredRing(_through(lift.mate, odd), 0.5) for odd in (0, 1)]
        rings = [WiredRing(rings[0].walk, 0.5), *halves, *rings[1:]]
    family = "matchings" if shape.has_matching else "lifted"
    return DirectWiring(family, shape.links, shape.group, lift.near, lift.shift, recipe, tuple(rings))


def _walk(shape: LiftShape, order: Ints, voltage: Ints) -> Ints:
    """Return the servers of a lifted cycle in the order of visit: g times around the orbits."""
    inner = np.concatenate(([0], np.cumsum(voltage[:-1])))
    turns = np.arange(shape.group)[:, None] * int(voltage.sum()) + inner[None, :]
    return (turns % shape.group * shape.orbits + order[None, :]).ravel()


def _through(mate: Ints, odd: int) -> Ints:
    """Return the cycle of a matching with the cables 2i, 2i + 1 (of 2i + 1, 2i + 2 if odd)."""
    walk, here = [], 0
    for _ in range(len(mate) // 2):
        there = int(mate[here])
        walk += [here, there]
        here = (there + (1 if (there + odd) % 2 == 0 else -1)) % len(mate)
    return np.array(walk, np.int64)
