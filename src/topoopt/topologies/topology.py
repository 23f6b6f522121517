"""Topology and Ring: servers (and switches), and the directed links between them."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S


@dataclass(frozen=True, slots=True)
class Ring:
    """A logical ring of a group and its physical walk.

    Attributes
    ----------
    stride : int
        The stride p on positions in the sorted member list (0 where the ring follows no stride).
    walk : tuple of int
        Every node passed, in order, starting at a member; the last returns to the first. Where all
        logical neighbors are linked directly, the walk holds the members only. A ring through relays or
        switches passes other nodes too.
    members : tuple of int
        The members in ring order, a subsequence of ``walk``.
    """

    stride: int
    walk: tuple[int, ...]
    members: tuple[int, ...]

    @property
    def hops(self) -> int:
        """Number of links of the walk."""
        return len(self.walk)

    def edges(self) -> tuple[Ints, Ints]:
        """Return sources and destinations of the walk's links, each of shape (hops,)."""
        nodes = np.asarray(self.walk, np.int64)
        return nodes, np.roll(nodes, -1)

    def backwards(self) -> "Ring":
        """Return the ring in reverse direction, from the same member."""
        return Ring(0, (self.walk[0], *self.walk[:0:-1]), (self.members[0], *self.members[:0:-1]))


@dataclass(frozen=True, slots=True)
class Link:
    """A directed link. Two of them make a cable."""

    src: int
    dst: int
    bandwidth_bps: float
    latency_s: float = DEFAULT_LATENCY_S

    def __post_init__(self) -> None:
        if self.bandwidth_bps <= 0:
            raise InvalidInput(
                f"link {self.src}->{self.dst}: bandwidth_bps must be positive, got {self.bandwidth_bps}"
            )
        if self.latency_s < 0:
            raise InvalidInput(f"link {self.src}->{self.dst}: latency_s must be >= 0, got {self.latency_s}")


@dataclass(frozen=True, eq=False)
class Topology:
    """Directed links between nodes; nodes ``0 .. servers-1`` are servers, the rest are switches.

    Links are sorted by (src, dst) and unique: parallel links of a pair are one fatter link, and ``ports``
    says how many. Make one with :func:`topology_from_links` or with a family, not by hand.

    Attributes
    ----------
    family : str
        Name of the family: ``circulant``, ``torus``, ``expander``, ``ideal-switch``, …
    src, dst : int32 arrays, shape (links,)
    ports : int32 array, shape (links,)
        Physical links merged into this one.
    bandwidth_bps, latency_s : float64 arrays, shape (links,)
        Bandwidth of the merged link; latency of one hop.
    offsets : tuple of int
        For a circulant, the sorted steps, each in 1..n-1, along which every server has a link (both p and n-p
        of a duplex stride p), sorted; empty for every other family.
    rings : tuple of Ring
        Rings of all servers that are known from how it was wired; their AllReduce is split equally over them. Empty
        where they have to be looked for.
    """

    family: str
    servers: int
    nodes: int
    src: Ints32
    dst: Ints32
    ports: Ints32
    bandwidth_bps: Floats
    latency_s: Floats
    offsets: tuple[int, ...] = ()
    rings: tuple[Ring, ...] = ()

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[Link]:
        columns = (self.src, self.dst, self.bandwidth_bps, self.latency_s)
        yield from map(Link, *(column.tolist() for column in columns))

    @cached_property
    def first_link(self) -> Ints:
        """Return the CSR pointer: the links out of node v are ``first_link[v] : first_link[v+1]``."""
        return np.searchsorted(self.src, np.arange(self.nodes + 1))

    @cached_property
    def links_in(self) -> tuple[Ints, Ints32]:
        """Return the CSR pointer of the links into nodes, and the source of each."""
        order = np.lexsort((self.src, self.dst))
        return np.searchsorted(self.dst[order], np.arange(self.nodes + 1)), self.src[order]

    @cached_property
    def both_ways(self) -> bool:
        """Whether every link has one back."""
        return bool((self.link_ids(self.dst, self.src) >= 0).all())

    @cached_property
    def _keys(self) -> Ints:
        return self.src.astype(np.int64) * self.nodes + self.dst

    def link_ids(self, src: Ints | Ints32, dst: Ints | Ints32) -> Ints:
        """Return the index of the link of each pair, -1 where there is none."""
        key = np.asarray(src, np.int64) * self.nodes + np.asarray(dst, np.int64)
        return places_of(key, self._keys)

    def link_id(self, src: int, dst: int) -> int:
        """Return the index of one link, -1 if there is none."""
        return int(self.link_ids(np.array([src]), np.array([dst]))[0])


def places_of(keys: Ints, known: Ints) -> Ints:
    """Return the index of each key in an ascending array, -1 where it is missing."""
    if not len(known):
        return np.full(keys.shape, -1, np.int64)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, place, -1)


def topology_from_links(
    family: str, servers: int, links: Iterable[Link], nodes: int | None = None
) -> Topology:
    """Merge parallel links and sort; see :class:`Topology`.

    Raises
    ------
    InvalidInput
        If a link joins a node to itself or to a node that does not exist.
    """
    rows = np.array([astuple(link) for link in links], np.float64).reshape(-1, 4)
    src, dst = rows[:, :2].astype(np.int64).T
    return topology_from_arrays(family, servers, src, dst, rows[:, 2], rows[:, 3], nodes)


def topology_of_cables(
    family: str,
    servers: int,
    cables: tuple[Ints, Ints],
    bandwidth_bps: ArrayLike,
    latency_s: float,
    nodes: int | None = None,
) -> Topology:
    """Return the topology of duplex cables, given as two arrays of ends of shape (cables,)."""
    a, b = cables
    each_bps = np.tile(np.broadcast_to(bandwidth_bps, a.shape), 2)
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    return topology_from_arrays(family, servers, src, dst, each_bps, latency_s, nodes)


def topology_from_arrays(
    family: str,
    servers: int,
    src: Ints,
    dst: Ints,
    bandwidth_bps: ArrayLike,
    latency_s: ArrayLike,
    nodes: int | None = None,
    offsets: tuple[int, ...] = (),
) -> Topology:
    """Merge parallel links and sort, from arrays of shape (links,); a number is that of every link."""
    count = servers if nodes is None else nodes
    if len(src):
        lowest, highest = min(src.min(), dst.min()), max(src.max(), dst.max())
        if lowest < 0 or highest >= count:
            raise InvalidInput(f"topology: a link names node {highest if lowest >= 0 else lowest} of {count}")
        if (src == dst).any():
            raise InvalidInput(f"topology: node {int(src[src == dst][0])} is linked to itself")
    keys, first, inverse, ports = np.unique(
        src * count + dst, return_index=True, return_inverse=True, return_counts=True
    )
    merged = np.zeros(len(keys))
    np.add.at(merged, inverse, bandwidth_bps)
    return Topology(
        family,
        servers,
        count,
        (keys // count).astype(np.int32),
        (keys % count).astype(np.int32),
        ports.astype(np.int32),
        merged,
        np.broadcast_to(np.asarray(latency_s, np.float64), src.shape)[first],
        offsets,
    )


def check_numbers(place: str, servers: int, degree: int, bandwidth_bps: float, latency_s: float) -> None:
    """Refuse numbers from which nothing can be wired.

    Raises
    ------
    InvalidInput
        With the number, its value and the allowed range.
    """
    if servers < 2:
        raise InvalidInput(f"{place}: servers must be at least 2, got {servers}")
    if degree < 1:
        raise InvalidInput(f"{place}: degree must be at least 1, got {degree}")
    if not 0 < bandwidth_bps < float("inf"):
        raise InvalidInput(f"{place}: bandwidth_bps must be positive, got {bandwidth_bps}")
    if not 0 <= latency_s < float("inf"):
        raise InvalidInput(f"{place}: latency_s must be >= 0, got {latency_s}")
