"""Rewiring with the fewest moved fibers: ranks to servers, links to ports.

Servers are assigned to the ranks of a new topology such that as many links as possible exist already.

Most common links of two unlabeled graphs is a quadratic assignment problem, hard in general. Up to eight servers
all assignments are tried. Beyond, these are the maps r -> m·r + t (mod n), under which circulants stay circulants;
others come from ``annealing.py``, which considers the panels, too.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring.panels import Pair
from topoopt.finder.rewiring.rewire_kernel import There, Wanted, anneal_places
from topoopt.finder.rewiring.wiring import Links, Patch, Wiring, patched, placed_links, repatched
from topoopt.topologies import Topology

LARGEST_EXHAUSTIVE = 8
"""Servers up to which all assignments are tried: 40,320 of them."""
_MOST_TRIED = 120  # of these, with the most common links, are divided among panels; of five servers all
_MOST_TURNS = 2_000_000  # entries looked up while trying r -> m·r + t
_MOST_TURNED = 5
_LARGEST = 1 << 28  # entries of the table of old links: 256 MB
_STEPS, _MOST_STEPS = 20_000, 2_000_000  # exchanges of a start, for each server and in all; 0.4 s or so
_HOT, _MILD, _COLD = 0.35, 0.2, 0.08  # links: a random start, an orderly one, and at last
_ONE, _MANY = 512, 256
"""Pairs × panels that are divided exactly: of one order of the servers, and of each of many."""
_RANDOM_STARTS = 3
"""Random starts of annealing on the panels as they are; with all panels as one there is one start."""
_Found = tuple[
    tuple[int, ...], Wiring, bool
]  # the server of each rank, the patches, whether no others keep more


@dataclass(frozen=True, slots=True)
class Rewiring:
    """Patching of a new topology where an old one is plugged in.

    Attributes
    ----------
    old, new : Wiring
        The whole room before and after, patches of other jobs included.
    servers : tuple of int
        The server that takes each rank of the new topology.
    removed, made : tuple of Patch
        Patches unplugged and patches plugged in. A moved fiber is one of each.
    lower_bound : int
        No assignment of ranks and ports moves fewer fibers.
    """

    old: Wiring
    new: Wiring
    servers: tuple[int, ...]
    removed: tuple[Patch, ...]
    made: tuple[Patch, ...]
    lower_bound: int

    @property
    def moved_fibers(self) -> int:
        """Fibers to touch: cables of a duplex wiring, else single fibers."""
        return max(len(self.removed), len(self.made))

    @property
    def gap(self) -> int:
        """Moved fibers above the lower bound; 0 is proven to be the fewest."""
        return self.moved_fibers - self.lower_bound

    @property
    def relabeled(self) -> bool:
        """Whether some rank sits on another server than that of its number."""
        return self.servers != tuple(range(len(self.servers)))


def rewire(
    old: Wiring, topology: Topology, *, servers: Sequence[int] | None = None, relabel: bool = True
) -> Rewiring:
    """Return the patching of a topology with the fewest moved fibers.

    Patches of the old wiring that end at one of the servers and are not wanted are unplugged. All others stay.

    Parameters
    ----------
    old : Wiring
        The room as it is, of the same links and degree; it may be empty.
    topology : Topology
        The links of the job that comes.
    servers : sequence of int, optional
        Servers of the room for the job, in the order of its ranks; by default ``0 .. topology.servers - 1``.
    relabel : bool
        Whether the ranks may be spread over these servers in another order. Not for a job that runs on.

    Raises
    ------
    InvalidInput
        If the topology does not go with the wiring.
    Infeasible
        If the links cannot be divided among the panels.
    """
    here = tuple(range(topology.servers)) if servers is None else tuple(servers)
    links = placed_links(topology, old.degree, old.links)
    touched = old.touching(here)
    ours = set(here)
    inside = replace(old, patches=tuple(patch for patch in touched if {patch.src, patch.dst} <= ours))
    fresh = patched(_moved(links, here, old.links), replace(old, patches=()))
    if fresh is None:
        raise Infeasible(
            f"rewiring: the links cannot be divided among panels with {old.interfaces_per_panel} of "
            "each server's interfaces; use more interfaces per panel"
        )
    common, orders = _orders(links, inside, fresh[0], here, relabel)
    best: _Found | None = None
    if relabel and len(here) > LARGEST_EXHAUSTIVE and not old.dead:
        best = _annealed(inside, fresh[0], here, [order for _, order in orders[-2:]])
    for hoped, order in orders:
        if best is not None and _kept(inside, best[1]) >= hoped:
            continue
        place = tuple(here[rank] for rank in order)
        wired = patched(_moved(links, place, old.links), inside, _MANY if relabel else _ONE)
        if wired is not None and (best is None or _kept(inside, wired[0]) > _kept(inside, best[1])):
            best = place, *wired
    if best is None:
        raise Infeasible(
            "rewiring: no way was found to divide the links among the panels and keep some in place"
        )
    place, wiring, proven = best
    if proven and not relabel:
        common = _kept(inside, wiring)
    stay = set(inside.patches) & set(wiring.patches)
    removed = tuple(patch for patch in touched if patch not in stay)
    made = tuple(patch for patch in wiring.patches if patch not in stay)
    bound = max(len(touched) - common, sum(links.values()) - common)
    return Rewiring(old, old.changed(removed, made), place, removed, made, bound)


def _annealed(inside: Wiring, fresh: Wiring, here: Sequence[int], starts: Sequence[Ints]) -> _Found | None:
    """Return the best of the assignments that annealing finds, each with panels exchanged so that more stays."""
    old, new = _by_rank(inside, here), _by_rank(fresh, here)
    best: _Found | None = None
    for order in annealed_places(old, new, len(here), starts, _RANDOM_STARTS):
        place = dict(enumerate(here[server] for server in order))
        wired = repatched([_renamed(patch, place, new) for patch in new.patches], inside)
        if best is None or _kept(inside, wired) > _kept(inside, best[1]):
            best = tuple(place.values()), wired, False
    return best


def _by_rank(wiring: Wiring, here: Sequence[int], panels: bool = True) -> Wiring:
    """Return the patches among ranks in place of servers, on request all on one panel."""
    rank = {server: index for index, server in enumerate(here)}
    width = wiring.interfaces_per_panel if panels else wiring.degree
    patches = tuple(_renamed(patch, rank, wiring) for patch in wiring.patches)
    return replace(wiring, patches=patches, interfaces_per_panel=width, dead=frozenset())


def _renamed(patch: Patch, name: Mapping[int, int], wiring: Wiring) -> Patch:
    one, other = ((name[server], interface) for server, interface in patch.ends)
    return wiring.joined(one, other)


def _orders(
    links: Links, inside: Wiring, fresh: Wiring, here: Sequence[int], relabel: bool
) -> tuple[int, list[tuple[int, Ints]]]:
    """Return the most links that can stay, and promising orders of the ranks with their number of links."""
    duplex = inside.links == "duplex"
    rank = {server: index for index, server in enumerate(here)}
    there = Counter((rank[patch.src], rank[patch.dst]) for patch in inside.patches)
    ways = 2 if duplex else 1
    plain = np.arange(len(here))
    old, new = (link_matrix(which, len(here), duplex) for which in (there, links))
    if not relabel:
        common = common_links(old, new, plain) // ways
        return common, [(common, plain)]
    orders = [plain]
    if inside.patches:
        orders = [*orderly_relabelings(old, new), plain]
        if len(here) > LARGEST_EXHAUSTIVE and inside.panels > 1:
            was, comes = (_by_rank(wiring, here, panels=False) for wiring in (inside, fresh))
            orders = [*annealed_places(was, comes, len(here), (), 1), *orders]
    return most_common_links(old, new) // ways, [
        (common_links(old, new, order) // ways, order) for order in orders
    ]


def _moved(links: Links, place: Sequence[int], model: str) -> Links:
    moved = {(place[src], place[dst]): count for (src, dst), count in links.items()}
    if model == "duplex":
        return {(min(pair), max(pair)): count for pair, count in moved.items()}
    return moved


def _kept(old: Wiring, new: Wiring) -> int:
    return len(set(old.patches) & set(new.patches))


def annealed_places(
    old: Wiring, new: Wiring, servers: int, starts: Iterable[Ints], random_starts: int
) -> Iterator[Ints]:
    """Yield assignments of ranks to servers in which many patches of ``new`` are patches of ``old``.

    The panels of both are kept, where they have several. That is harder than having many links in common, but
    links in common on different panels must move nevertheless: on 128 servers with 4 ports, 138 of 256 cables stay
    like this, while a division among panels of the most common links found, 149, leaves 72.

    Parameters
    ----------
    old, new : Wiring
        Patches among servers 0 .. servers - 1, on equal panels.
    starts : iterable of int64 arrays, shape (servers,)
        Initial assignments, besides random ones.
    """
    if not old.patches or not new.patches or old.panels * servers**2 > _LARGEST:
        return
    rng = np.random.default_rng(servers)
    there, wanted = _there(old, servers), _wanted(new, servers)
    steps = min(_STEPS * servers, _MOST_STEPS)
    both = [(start, _MILD) for start in starts]
    both += [(rng.permutation(servers), _HOT) for _ in range(random_starts)]
    for start, hot in both:
        best, rank = np.empty((2, servers), np.int64)
        state = np.array([rng.integers(1, 2**62)], np.uint64)
        cooling = (_COLD / hot) ** (1 / steps)
        anneal_places(there, wanted, start.astype(np.int64), rank, best, steps, hot, cooling, state)
        yield best


def _ends(wiring: Wiring) -> tuple[Ints, Ints, Ints]:
    rows = [(patch.src, patch.dst, wiring.panel_of(patch)) for patch in wiring.patches]
    src, dst, panel = np.array(rows, np.int64).T
    return src, dst, panel


def _there(old: Wiring, servers: int) -> There:
    src, dst, panel = _ends(old)
    table = np.zeros((old.panels, servers, servers), np.int8)
    np.add.at(table, (panel, src, dst), 1)
    if old.links == "duplex":
        np.add.at(table, (panel, dst, src), 1)
    near, far = np.concatenate([src, dst]), np.concatenate([dst, src])
    order = np.argsort(near, kind="stable")
    return There(table, np.searchsorted(near[order], np.arange(servers + 1)), far[order])


def _wanted(new: Wiring, servers: int) -> Wanted:
    src, dst, panel = _ends(new)
    rows, count = np.unique(np.stack([src, dst, panel], axis=1), axis=0, return_counts=True)
    src, dst, panel = rows.T
    none = np.zeros(len(count), np.int64)
    back = (count, none) if new.links == "duplex" else (none, count)
    rank, other = np.concatenate([src, dst]), np.concatenate([dst, src])
    out, into = np.concatenate([count, back[0]]), np.concatenate([none, back[1]])
    order = np.argsort(rank, kind="stable")
    of = np.searchsorted(rank[order], np.arange(servers + 1))
    return Wanted(of, other[order], np.tile(panel, 2)[order], out[order], into[order])


def link_matrix(links: Mapping[Pair, int], servers: int, duplex: bool) -> Floats:
    """Return the number of links of each ordered pair, shape (servers, servers)."""
    matrix = np.zeros((servers, servers))
    for (src, dst), count in links.items():
        matrix[src, dst] = count
        if duplex:
            matrix[dst, src] = count
    return matrix


def common_links(old: Floats, new: Floats, place: Ints) -> int:
    """Return the number of links, counted per direction, in both when rank r sits on server ``place[r]``."""
    return int(np.minimum(old[np.ix_(place, place)], new).sum())


def orderly_relabelings(old: Floats, new: Floats) -> list[Ints]:
    """Return assignments of ranks to servers with many common links: all for few servers, else the maps.

    More than one, since of equally good ones some can be divided among panels with more links in place.

    Parameters
    ----------
    old, new : float64 arrays, shape (servers, servers)
        Links of each ordered pair.
    """
    if len(old) <= LARGEST_EXHAUSTIVE:
        return _all_of(old, new, _MOST_TRIED)
    size = len(old)
    rank = np.arange(size)
    src, dst = np.nonzero(new)
    units = [m for m in range(1, size) if gcd(m, size) == 1]
    turns = max(1, min(size, _MOST_TURNS // (len(units) * max(len(src), 1))))
    places = []
    for m in units:
        maps = [(m * rank + t) % size for t in range(turns)]
        counts = [np.minimum(old[place[src], place[dst]], new[src, dst]).sum() for place in maps]
        places.append(maps[int(np.argmax(counts))])
    unique = {place.tobytes(): place for place in places}
    return sorted(unique.values(), key=lambda place: -common_links(old, new, place))[:_MOST_TURNED]


def most_common_links(old: Floats, new: Floats) -> int:
    """Return an upper bound on the common links, counted per direction, of any assignment.

    For symmetric A and B and any permutation P, |A - PBPᵀ|² is at least the sum of squared differences of the sorted
    eigenvalues (Hoffman and Wielandt); for others the same holds of singular values (Mirsky). Entries differ by at
    most the largest number of parallel links, which turns squares into links.
    """
    if len(old) <= LARGEST_EXHAUSTIVE:
        return common_links(old, new, _all_of(old, new, 1)[0])
    both = int(min(old.sum(), new.sum()))
    largest = max(old.max(), new.max(), 1.0)
    symmetric = (old == old.T).all() and (new == new.T).all()
    spectra = [np.linalg.eigvalsh(m) if symmetric else np.linalg.svd(m, compute_uv=False) for m in (old, new)]
    differ = float(((spectra[0] - spectra[1]) ** 2).sum()) / largest
    # differing entries = |A| + |B| - 2 · common
    return min(both, int(np.floor((old.sum() + new.sum() - differ) / 2 + 1e-6)))


def _all_of(old: Floats, new: Floats, most: int) -> list[Ints]:
    orders = np.array(list(itertools.permutations(range(len(old)))), np.int64)
    common = np.minimum(old[orders[:, :, None], orders[:, None, :]], new).sum(axis=(1, 2))
    return [orders[row] for row in np.argsort(-common, kind="stable")[:most]]
