"""Equal-cost multi-path: every node splits equally over all ports that lead nearer to the destination."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Ints, Ints32, entries_of, pointer
from topoopt.base.errors import InvalidInput
from topoopt.routing.pair_links import PairLinks, joined_pairs
from topoopt.routing.pair_links_kernel import Walk, ecmp_shares, equal_paths
from topoopt.routing.routes import Path, PathArrays, connection_uniform, paths_of_pair, trees_of_pairs
from topoopt.schema.files import Count, Number
from topoopt.topologies import Topology, Trees, trees_to


@dataclass(frozen=True, eq=False)
class EcmpRoutes:
    """All shortest paths, split hop by hop; a merged fat link counts once for each of its ports.

    Link shares are exact. Paths are listed one by one, in order of node ids, where a pair has at most
    ``limit`` of them. Of more, ``limit`` are drawn like a switch's hash: each path with a probability of its share,
    and at even spacing, so that every next hop is drawn in about its proportion.

    Attributes
    ----------
    limit : int
        Most paths listed of a pair.
    seed : int
        Enters the draw.
    """

    topology: Topology
    limit: Number = 64
    seed: Count = 0
    method: ClassVar[str] = "ecmp"

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InvalidInput(f"routing ecmp: limit must be at least 1, got {self.limit}")

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        tree = _tree_to(self.topology, dst)
        if not 0 < tree.ways[0, src] <= self.limit:
            return paths_of_pair(self, src, dst)
        return tuple(self._walk((src,), 1.0, tree.hops[0]))

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        topology, (trees, row, src, dst) = self.topology, trees_of_pairs(self.topology, src, dst)
        ways = np.where(src == dst, 0.0, trees.ways[row, src])
        most = np.minimum(ways, self.limit).astype(np.int64)
        points = np.where(ways > self.limit, self.limit, 0).astype(np.int64)
        offset = connection_uniform(self.seed, src * topology.nodes + dst)
        room = int(most.sum()), int(most @ (trees.hops[row, src] + 1))
        path_first, node_first = np.zeros(len(src) + 1, np.int64), np.zeros(room[0] + 1, np.int64)
        nodes, weight = np.empty(room[1], np.int32), np.empty(room[0])
        deepest = max(2, int(trees.hops[row, src].max(initial=0)) + 1)
        cursors, shares = np.empty((3, deepest), np.int64), np.empty((3, deepest))
        walk = Walk(np.empty(deepest, np.int32), *cursors, *shares)
        count = equal_paths(
            topology.first_link, topology.dst, topology.ports, trees.hops, row, src, dst,
            most, points, offset, path_first, node_first, nodes, weight, walk,
        )  # fmt: skip
        node_first = node_first[: count + 1]
        return PathArrays(path_first, node_first, nodes[: node_first[-1]], weight[:count])

    def pair_links(self, src: Ints, dst: Ints) -> PairLinks:
        """Return the links of many pairs, those to some destinations at a time."""
        ends, every = np.unique(dst), max(_TREES_AT_ONCE // self.topology.nodes, 1)
        if len(ends) > every:
            order = np.argsort(dst, kind="stable")
            blocks = np.split(order, np.searchsorted(dst[order], ends[every::every]))
            rows = joined_pairs([self.pair_links(src[one], dst[one]) for one in blocks])
            entry, _ = entries_of(rows.pair_first, np.argsort(order, kind="stable"))
            sizes = np.empty(len(order), np.int64)
            sizes[order] = np.diff(rows.pair_first)
            return PairLinks(pointer(sizes), rows.link[entry], rows.share[entry])
        topology, (trees, row, src, dst) = self.topology, trees_of_pairs(self.topology, src, dst)
        links, nodes = len(topology), topology.nodes
        room = max(4 * len(src), 2 * links)
        first, link, share = np.zeros(len(src) + 1, np.int64), np.empty(room, np.int32), np.empty(room)
        queue, flow, pair = np.empty(nodes, np.int32), np.zeros(nodes), 0
        while pair < len(src):
            pair = ecmp_shares(
                topology.first_link, topology.dst, topology.ports, trees.hops, row, src, dst,
                first, link, share, queue, flow, pair,
            )  # fmt: skip
            if pair < len(src):
                link = np.concatenate((link, np.empty(len(link), np.int32)))
                share = np.concatenate((share, np.empty(len(share))))
        return PairLinks(first, link[: first[-1]], share[: first[-1]])

    def _walk(self, nodes: tuple[int, ...], weight: float, to: Ints32) -> Iterator[Path]:
        here = nodes[-1]
        if to[here] == 0:
            yield Path(nodes, weight)
            return
        links = np.arange(self.topology.first_link[here], self.topology.first_link[here + 1])
        nearer = links[to[self.topology.dst[links]] == to[here] - 1]
        ports = self.topology.ports[nearer]
        for link, part in zip(nearer, ports / ports.sum(), strict=True):
            yield from self._walk((*nodes, int(self.topology.dst[link])), weight * float(part), to)


_TREES_AT_ONCE = 1 << 24
"""Nodes of all trees at a time, 16 bytes each."""


@lru_cache(maxsize=2048)
def _tree_to(topology: Topology, dst: int) -> Trees:
    return trees_to(topology, np.array([dst]))
