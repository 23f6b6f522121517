"""From one wiring to the next with the fewest moved fibers: which server takes which rank, which port which link."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring.annealing import annealed_places
from topoopt.finder.rewiring.relabeling import (
    LARGEST_EXHAUSTIVE,
    common_links,
    link_matrix,
    most_common_links,
    orderly_relabelings,
)
from topoopt.finder.rewiring.wire import Links, patched, placed_links, repatched
from topoopt.finder.rewiring.wiring import Patch, Wiring
from topoopt.topologies import Topology

_ONE, _MANY = 512, 256
"""Pairs × panels that are divided exactly: of one order of the servers, and of each of many."""
_RANDOM_STARTS = 3
"""Of annealing on the panels as they are; on all as one there is one."""

_Found = tuple[
    tuple[int, ...], Wiring, bool
]  # the server of each rank, the patches, whether no others keep more


@dataclass(frozen=True, slots=True)
class Rewiring:
    """How a new topology is patched where an old one is plugged in.

    Attributes
    ----------
    old, new : Wiring
        The whole room before and after, patches of other jobs included.
    servers : tuple of int
        The server that takes each rank of the new topology.
    removed, made : tuple of Patch
        What is unplugged, and what is plugged in. A moved fiber is one of each.
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
    old: Wiring,
    topology: Topology,
    *,
    servers: Sequence[int] | None = None,
    relabel: bool = True,
) -> Rewiring:
    """Return how to patch a topology with the fewest moved fibers.

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
    """Return a patch between other servers."""
    one, other = ((name[server], interface) for server, interface in patch.ends)
    return wiring.joined(one, other)


def _orders(
    links: Links, inside: Wiring, fresh: Wiring, here: Sequence[int], relabel: bool
) -> tuple[int, list[tuple[int, Ints]]]:
    """Return how many links can stay at most, and orders of the ranks worth trying with how many can in each."""
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
