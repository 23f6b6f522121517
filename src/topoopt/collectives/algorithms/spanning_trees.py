"""Collectives along spanning trees that use the wiring at the best possible rate.

Every server is the root of equally many trees, which together load no link more than the tightest set of servers needs
(:func:`~topoopt.collectives.tightest_set.tightest_set`). A shard is cut into a part for each tree of its server, and
the parts into pieces that follow each other, so that with many pieces an all-gather takes no longer than that bound. A
reduce-scatter goes the other way over the trees of the reversed links.

References
----------
.. [1] J. Edmonds, "Edge-disjoint branchings", 1973: such trees exist.
.. [2] K. Bérczi and A. Frank, "Packing arborescences", 2010: equal trees are packed together.
.. [3] L. Zhao et al., "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics",
   2024: the rate, and the number of trees for each root.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.collectives.schedule import Algorithm, Transfers, one_after_the_other
from topoopt.collectives.tightest_set import tightest_set
from topoopt.collectives.tree_packing_kernel import packed
from topoopt.topologies import Topology, links_among, reversed_links

MOST_SERVERS = 256
"""Servers of a wiring for which trees are packed: seconds."""


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Spanning trees of all servers, equal ones in one row.

    Attributes
    ----------
    per_root : int
        Trees of each server, equal ones counted each.
    root, units : int64 arrays, shape (rows,)
        Root of each tree, and how many are equal.
    parent, depth : int64 arrays, shape (rows, servers)
        Server before each server, -1 for the root, and links from the root.
    """

    topology: Topology
    per_root: int
    root: Ints
    units: Ints
    parent: Ints
    depth: Ints

    @property
    def height(self) -> int:
        """Links from a root to its farthest server."""
        return int(self.depth.max())

    def volume(self, ports: int, pieces: int) -> float:
        """Return the load of the fullest links, summed over steps, relative to that of ``ports`` with the message.

        With so many pieces, each a step behind the one before.
        """
        tree, server = np.nonzero(self.depth > 0)
        link = self.topology.link_ids(self.parent[tree, server], server)
        load = np.zeros((self.height, len(self.topology)))
        np.add.at(load, (self.depth[tree, server] - 1, link), self.units[tree] / self.topology.ports[link])
        begun = np.concatenate([np.zeros((1, len(self.topology))), load.cumsum(axis=0)])
        whole = max(
            pieces - self.height, 0
        )  # steps in which all levels of the trees send, beside the first of them
        step = np.arange(self.height + min(pieces, self.height) - 1)
        steps: Floats = begun[np.minimum(step + 1, self.height)]
        steps = steps - begun[np.maximum(step + 1 - min(pieces, self.height), 0)]
        total = steps.max(axis=1).sum() + whole * begun[-1].max()
        return float(total) * ports / (pieces * self.per_root * self.topology.servers)

    def all_gather(self, pieces: int = 1) -> Transfers:
        """Return the all-gather, with every part of a shard in equal pieces."""
        tree, server = np.nonzero(self.depth > 0)
        own = np.zeros(len(self.root), np.int64)  # chunks of earlier trees of the same root
        for root in range(self.topology.servers):
            rows = self.root == root
            own[rows] = np.cumsum(self.units[rows]) - self.units[rows]
        piece = np.repeat(np.arange(pieces), len(tree))
        tree, server = np.tile(tree, pieces), np.tile(server, pieces)
        first = (self.root[tree] * pieces + piece) * self.per_root + own[tree]
        moved = Transfers(
            NAME,
            "all-gather",
            self.topology.servers,
            self.topology.servers * self.per_root * pieces,
            self.depth[tree, server] - 1 + piece,
            self.parent[tree, server],
            server.astype(np.int64),
            first,
            self.units[tree],
            np.zeros(len(tree), np.bool_),
        )
        return moved.in_order()


NAME = "spanning-trees"


@lru_cache(maxsize=32)
def packed_trees(topology: Topology) -> PackedTrees | None:
    """Return the trees of a wiring; None for too many servers, or servers that are not joined."""
    n = topology.servers
    if n > MOST_SERVERS or n < 2 or not len(topology) or np.bincount(topology.dst, minlength=n).min() == 0:
        return None
    tight = tightest_set(topology)
    if not tight.ports_out:
        return None
    common = gcd(tight.ratio.denominator, *topology.ports.tolist())
    capacity = topology.ports.astype(np.int64) // common * tight.ratio.numerator
    per_root = tight.ratio.denominator // common
    src, dst = topology.src.astype(np.int64), topology.dst.astype(np.int64)
    return PackedTrees(topology, per_root, *packed(n, src, dst, capacity, per_root))


def allreduce_along_trees(topology: Topology, members: tuple[int, ...]) -> Transfers | None:
    """Return the AllReduce of a group, rank r the r-th member; None where its own links do not join it."""
    everyone = topology.nodes == topology.servers and members == tuple(range(topology.servers))
    inside = topology if everyone else links_among(topology, members)
    gather = None if inside is None else packed_trees(inside)
    scatter = gather if inside is None or inside.both_ways else packed_trees(reversed_links(inside))
    if gather is None or scatter is None:
        return None
    return one_after_the_other(scatter.all_gather().backwards(), gather.all_gather())


ALGORITHM = Algorithm(collective="allreduce", on_links=allreduce_along_trees, compared=False, order=90)
"""A plan uses it only if asked: to be the fastest it takes more pieces than simulators follow."""
