"""Rings over edge-disjoint Hamiltonian cycles of the members, each used in both directions."""

from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.workers import wait_for
from topoopt.finder.rings_kernel import Cables, Room, hamiltonian_cycles
from topoopt.topologies import Ring, Topology

_STEPS, _MOST_STEPS = 4, 3000  # exchanges from one start: for each member, and at most
_STARTS = (3, 100)  # at least and at most; from some graphs one start in ten leads to rings
_ALL_STEPS, _STEPS_FOR_ALL = (
    9000,
    1500,
)  # from all starts, and where signs may forbid as many rings as there are links
_UPHILL = 0.02  # of the exchanges that make a cycle more
_one_way_rings_cycles = tuple[tuple[int, ...], ...]
_Cycles = tuple[tuple[int, ...], ...]


def hamiltonian_rings(topology: Topology, members: Ints, limit: int, seed: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings over direct links; no link is used more often than it has ports.

    Where they exist they are optimal: d/2 cycles in both directions keep all d interfaces busy. A torus of sides of 3
    and more is made of two such cycles [1]_, one of three dimensions of three [2]_, a random d-regular graph of even d
    almost surely of d/2 [3]_. An odd interface stays idle.

    The cycles are searched for at random, in the same steps for every graph. First two cables of each
    server are put into each set, along alternating trails; the sets are then cycles, but many. After that the
    cables of closed trails that alternate between two sets change sides wherever this makes no more cycles,
    until each set is one cycle. Where the search fails, one cycle fewer is looked for.

    References
    ----------
    .. [1] A. Kotzig, 1973, as cited by R. Stong, "Hamilton decompositions of directed cubes and products",
       Discrete Mathematics 306, 2006.
    .. [2] M. F. Foregger, 1978, as cited there.
    .. [3] J. H. Kim, N. C. Wormald, "Random matchings which induce Hamilton cycles, and Hamiltonian
       decompositions of random regular graphs", J. Combinatorial Theory B 81, 2001.
    """
    # the ends, as positions in the members, of each pair of links between them, there and back
    place = np.full(topology.nodes, -1)
    place[members] = np.arange(len(members))
    inside = np.flatnonzero(
        (topology.src < topology.dst) & (place[topology.src] >= 0) & (place[topology.dst] >= 0)
    )
    src, dst = topology.src[inside].astype(np.int64), topology.dst[inside].astype(np.int64)
    back = topology.link_ids(dst, src)
    cables = np.where(back >= 0, np.minimum(topology.ports[inside], topology.ports[back]), 0)
    tail, head = np.repeat(place[src], cables), np.repeat(place[dst], cables)
    fewest = int(np.bincount(np.concatenate([tail, head]), minlength=len(members)).min())
    most = min(fewest // 2, (limit + 1) // 2)
    if not most or len(members) < 3:
        return ()
    rings = []
    for cycle in _disjoint_cycles(len(members), tail.tobytes(), head.tobytes(), most, seed):
        order = tuple(members[list(cycle)].tolist())
        ring = Ring(0, order, order)
        rings += [ring, ring.backwards()]
    return tuple(rings[:limit])


@lru_cache(maxsize=128)
def _disjoint_cycles(size: int, tails: bytes, heads: bytes, most: int, seed: int) -> _Cycles:
    """Return up to ``wanted`` cycles of the positions; each position has at least two cables a cycle."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    wait_for("rings")
    tail, head = np.frombuffer(tails, np.int64), np.frombuffer(heads, np.int64)
    joined = coo_array((np.ones(len(tail)), (tail, head)), shape=(size, size))
    parts, _ = connected_components(joined, directed=False)
    if parts > 1:
        return ()
    ends, others = np.concatenate([tail, head]), np.concatenate([head, tail])
    by_end = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[by_end], np.arange(size + 1))
    cable = np.tile(np.arange(len(tail)), 2)[by_end]
    cables = Cables(first, cable, others[by_end], np.empty(len(tail), np.int64))
    best: _Cycles = ()
    for sets in range(most, 0, -1):
        if len(best) == sets:
            break
        cycles = np.empty((sets, size), np.int64)
        # Several times the cables that are walked in tori, which take the most: a set of n servers needs at most about
        # n changes of sides there, and each is 3 n steps.
        budget = (2000 + 4 * size) * size * sets
        count = hamiltonian_cycles(cables, _room(size, len(tail), sets), seed, budget, cycles)
        best = max(best, tuple(map(tuple, cycles[:count].tolist())), key=len)
    return best


def _room(size: int, cables: int, sets: int) -> Room:
    walked, trail = np.empty((2, cables), np.int64)
    row_of, count = np.empty((2, sets + 1), np.int64)
    left, left_by = np.empty((2, size, 2), np.int64)
    state, has, label = np.empty(1, np.int64), np.empty(size, np.int64), np.zeros((sets + 3, size), np.int64)
    return Room(state, walked, trail, has, label, row_of, count, left, left_by)


def one_way_rings(topology: Topology, members: Ints, limit: int, seed: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` one-way rings over direct links that share no port.

    If every member sends to d others and receives from d, its links are d permutations (König). Two of these
    exchange their values at some members wherever both remain permutations and have no more cycles than before,
    until each is one cycle. In a line graph, such as Kautz and de Bruijn graphs, that joins the Euler circuits of
    the graph below. There are not always d such cycles: an exchange preserves the product of the signs, so that d
    cycles of 2 or 4 links each may be impossible [1]_; then one fewer is searched, and the last permutation may
    have any number of cycles.

    References
    ----------
    .. [1] N. Alon, M. Tarsi, "Colorings and orientations of graphs", Combinatorica 12, 1992: of the Latin squares of
       order 2 and 4, which are the links of such a graph, all have one sign.
    """
    size = len(members)
    place = np.full(topology.nodes, -1)
    place[members] = np.arange(size)
    inside = (place[topology.src] >= 0) & (place[topology.dst] >= 0)
    src, dst = (np.repeat(place[end[inside]], topology.ports[inside]) for end in (topology.src, topology.dst))
    if size < 3 or not len(src):
        return ()
    most = min(int(np.bincount(end, minlength=size).min()) for end in (src, dst))
    rings = []
    for cycle in _one_way_rings_disjoint_cycles(
        size, src.tobytes(), dst.tobytes(), most, min(most, limit), seed
    ):
        order = tuple(members[list(cycle)].tolist())
        rings.append(Ring(0, order, order))
    return tuple(rings)


@lru_cache(maxsize=128)
def _one_way_rings_disjoint_cycles(
    size: int, src: bytes, dst: bytes, factors: int, most: int, seed: int
) -> _one_way_rings_cycles:
    ends = np.frombuffer(src, np.int64), np.frombuffer(dst, np.int64)
    rng = np.random.default_rng(seed)
    best: _one_way_rings_cycles = ()
    for wanted in range(most, 0, -1):
        steps = _ALL_STEPS if wanted < factors else _STEPS_FOR_ALL
        for _ in range(int(np.clip(steps // _most_steps(size), *_STARTS))):
            if len(best) >= wanted:
                return best
            after = _permutations(size, ends, factors, rng)
            if len(after) >= wanted and (wanted < len(after) or _may_be_cycles(after)):
                _join_cycles(after, wanted, rng)
                best = max(best, _whole_cycles(after)[:most], key=len)
    return best


def _most_steps(size: int) -> int:
    return min(_STEPS * size, _MOST_STEPS)


def _permutations(size: int, ends: tuple[Ints, Ints], most: int, rng: np.random.Generator) -> Ints:
    """Return up to ``most`` link-disjoint permutations as successors, shape (permutations, members)."""
    src, dst = ends
    found = []
    for _ in range(most):
        rows, columns = rng.permutation(size), rng.permutation(size)
        link = _perfect_matching(size, rows[src], columns[dst])
        if len(link) < size:
            break
        after = np.empty(size, np.int64)
        after[src[link]] = dst[link]
        found.append(after)
        src, dst = np.delete(src, link), np.delete(dst, link)
    return np.array(found, np.int64).reshape(-1, size)


def _perfect_matching(size: int, src: Ints, dst: Ints) -> Ints:
    """Return links of which each member sends one and receives one; fewer than ``size`` where there are none.

    As a flow: SciPy's matching takes exponential time on some de Bruijn graphs, such as 1021 servers of 6 links.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415 - slow to import

    pair, link = np.unique(src * size + dst, return_index=True)
    each, source, sink = np.arange(size), np.full(size, 2 * size), np.full(size, 2 * size + 1)
    tail = np.concatenate([pair // size, source, each + size])
    head = np.concatenate([pair % size + size, each, sink])
    network = csr_array((np.ones(len(tail), np.int32), (tail, head)), shape=(2 * size + 2, 2 * size + 2))
    flow = maximum_flow(network, 2 * size, 2 * size + 1).flow.tocoo()
    used = (flow.data > 0) & (flow.row < size) & (flow.col < 2 * size)
    found: Ints = link[np.searchsorted(pair, flow.row[used].astype(np.int64) * size + flow.col[used] - size)]
    return found


def _may_be_cycles(after: Ints) -> bool:
    """Return whether the product of the signs allows every permutation to be one cycle."""
    many, size = after.shape
    return size < 2 or sum(_cycles_of(one)[0] for one in after) % 2 == int(many) % 2


def _join_cycles(after: Ints, wanted: int, rng: np.random.Generator) -> None:
    """Exchange parts of the permutations until the first ``wanted`` are one cycle each, or there were many steps."""
    many, size = after.shape
    labels = [_cycles_of(one) for one in after]
    for _ in range(_most_steps(size)):
        if all(labels[one][0] == 1 for one in range(wanted)) or many < 2:
            return
        one = int(rng.choice([k for k in range(wanted) if labels[k][0] > 1]))
        other = int((one + rng.integers(1, many)) % many)
        part = _part(after, one, other, labels[one][1], rng)
        if not len(part):
            continue
        pair = (np.array([[one], [other]]), part[None, :])
        after[pair] = after[pair][::-1]
        new = {k: _cycles_of(after[k]) for k in (one, other)}
        more = sum(new[k][0] - labels[k][0] for k in (one, other) if k < wanted)
        if more <= 0 or rng.random() < _UPHILL:
            for k, found in new.items():
                labels[k] = found
        else:
            after[pair] = after[pair][::-1]


def _part(after: Ints, one: int, other: int, label: Ints, rng: np.random.Generator) -> Ints:
    """Return members that two permutations send to the same set, and that lie on several cycles of the first."""
    before = np.empty_like(after[other])
    before[after[other]] = np.arange(len(before))
    parts, part = _cycles_of(before[after[one]])
    low, high = np.full(parts, len(part)), np.full(parts, -1)
    np.minimum.at(low, part, label)
    np.maximum.at(high, part, label)
    across = np.flatnonzero(low < high)
    return np.flatnonzero(part == rng.choice(across)) if len(across) else np.empty(0, np.int64)


def _cycles_of(after: Ints) -> tuple[int, Ints]:
    """Return the number of cycles of a permutation, and the cycle of each member."""
    following: list[int] = after.tolist()
    label = [-1] * len(following)
    count = 0
    for first in range(len(following)):
        member = first
        if label[first] < 0:
            while label[member] < 0:
                label[member] = count
                member = following[member]
            count += 1
    return count, np.array(label, np.int64)


def _whole_cycles(after: Ints) -> _one_way_rings_cycles:
    """Return the permutations that are one cycle, as members in the order of visit."""
    found = []
    for one in after:
        if _cycles_of(one)[0] == 1:
            following, walk = one.tolist(), [0]
            while following[walk[-1]]:
                walk.append(following[walk[-1]])
            found.append(tuple(walk))
    return tuple(found)
