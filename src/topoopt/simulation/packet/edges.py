"""The book of edges: every ordered pair and ring edge along which a task graph sends, with its paths.

A ring that the fabric lists keeps to the links of its walk. The connections of any other take the routes, where a
switch hashes each anew.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, PathTable, Reconfiguration, path_table
from topoopt.simulation.csr import entries_of, owners
from topoopt.simulation.link_classes import edge_starts, links_of_steps
from topoopt.topologies import Ring


@dataclass(frozen=True, eq=False)
class Edges:
    """All edges, each pointing at the row of its paths.

    Attributes
    ----------
    row : int64 array, shape (edges,)
    src, dst : int64 arrays, shape (rows,)
    paths : PathTable
    """

    row: Ints
    src: Ints
    dst: Ints
    paths: PathTable


@dataclass(eq=False)
class EdgeBook:
    """Edges in the order in which they are entered; :meth:`close` gives their paths."""

    fabric: Fabric
    _src: list[Ints] = field(default_factory=list)
    _dst: list[Ints] = field(default_factory=list)
    _fixed: list[tuple[int, Ints]] = field(default_factory=list)
    _count: int = 0
    _rings: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def enter_pairs(self, src: Ints, dst: Ints) -> Ints:
        """Enter edges that take the fabric's routes; return their numbers, which are consecutive."""
        numbers = self._count + np.arange(len(src))
        self._src.append(np.asarray(src, np.int64))
        self._dst.append(np.asarray(dst, np.int64))
        self._count += len(src)
        return numbers

    def enter_each_path(self, src: Ints, dst: Ints) -> tuple[Ints, Ints, Floats]:
        """Enter every path of every pair as an edge; return their numbers, their pairs' rows and their shares."""
        key, pair = np.unique(src * self.fabric.topology.nodes + dst, return_inverse=True)
        first_src, first_dst = np.divmod(key, self.fabric.topology.nodes)
        table = path_table(self.fabric, first_src, first_dst)
        of_path = owners(table.pair_first)
        numbers = self.enter_pairs(first_src[of_path], first_dst[of_path])
        for number, first, last in zip(
            numbers.tolist(), table.path_first[:-1], table.path_first[1:], strict=True
        ):
            self._fixed.append((number, table.link[first:last].astype(np.int64)))
        path, row = entries_of(table.pair_first, pair)
        return numbers[path], row, table.weight[path]

    def ring_edges(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first edge of each ring of a group; the others of a ring follow it.

        Raises
        ------
        InvalidInput
            If a ring steps where the fabric has no link.
        """
        if members not in self._rings:
            rings = self.fabric.rings.get(tuple(sorted(members))) or self._member_order(members)
            self._rings[members] = tuple(self._enter_ring(ring) for ring in rings)
        return self._rings[members]

    def _member_order(self, members: tuple[int, ...]) -> tuple[Ring, ...]:
        """Return the ring for a group that has none; on duplex circuits, made for it, a second one back."""
        ring = Ring(0, members, members)
        rule = self.fabric.reconfiguration
        if not isinstance(rule, Reconfiguration) or not rule.duplex or len(members) < 3:
            return (ring,)
        return ring, Ring(0, members[::-1], members[::-1])

    def _enter_ring(self, ring: Ring) -> int:
        src = np.array(ring.members, np.int64)
        numbers = self.enter_pairs(src, np.roll(src, -1))
        if self._is_listed(ring):
            starts = edge_starts(ring)
            begin, end = ring.edges()
            link = links_of_steps(
                self.fabric, np.stack([begin, end], axis=1), f"the ring of {len(src)} servers"
            )
            for number, first, last in zip(numbers.tolist(), starts[:-1], starts[1:], strict=True):
                self._fixed.append((number, link[first:last]))
        return int(numbers[0])

    def _is_listed(self, ring: Ring) -> bool:
        return ring in self.fabric.rings.get(tuple(sorted(ring.members)), ())

    def ends(self) -> tuple[Ints, Ints]:
        """Return source and destination of every edge so far, each of shape (edges,)."""
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *self._src]), np.concatenate([nothing, *self._dst])

    def close(self) -> Edges:
        """Return the edges with the paths of each, the equal ones once.

        Raises
        ------
        NoRoute
            If a pair cannot be reached.
        """
        src, dst = self.ends()
        routed: NDArray[np.bool_] = np.ones(self._count, np.bool_)
        routed[[number for number, _ in self._fixed]] = False
        key, inverse = np.unique((src * self.fabric.topology.nodes + dst)[routed], return_inverse=True)
        pair_src, pair_dst = np.divmod(key, self.fabric.topology.nodes)
        row = np.empty(self._count, np.int64)
        row[routed] = inverse
        own = np.array([number for number, _ in self._fixed], np.int64)
        row[own] = len(key) + np.arange(len(own))
        table = _extended(path_table(self.fabric, pair_src, pair_dst), [links for _, links in self._fixed])
        return Edges(row, np.concatenate([pair_src, src[own]]), np.concatenate([pair_dst, dst[own]]), table)


def _extended(table: PathTable, fixed: list[Ints]) -> PathTable:
    """Return the table with a pair more for each list of links."""
    lengths = np.array([len(links) for links in fixed], np.int64)
    return PathTable(
        np.concatenate([table.pair_first, table.pair_first[-1] + 1 + np.arange(len(fixed))]),
        np.concatenate([table.weight, np.ones(len(fixed))]),
        np.concatenate([table.path_first, table.path_first[-1] + np.cumsum(lengths)]),
        np.concatenate([table.link, *fixed]).astype(np.int32),
    )


def check_paths(edges: Edges) -> None:
    """Refuse an edge from a server to itself, which would have no path."""
    empty = np.flatnonzero(np.diff(edges.paths.pair_first) == 0)
    if len(empty):
        raise InvalidInput(f"packet simulator: {edges.src[empty[0]]}->{edges.dst[empty[0]]} has no path")
