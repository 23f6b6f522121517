"""Collectives along spanning trees that use the wiring at the best possible rate.

Every server is the root of equally many trees, which together load no link more than the tightest set of servers needs
(``tightest_set``). A shard is cut into a part for each tree of its server, and
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
from topoopt.collectives.switch_splitting_kernel import past_switches
from topoopt.collectives.tightest_set import tightest_set
from topoopt.collectives.tree_packing_kernel import packed
from topoopt.topologies import Topology, links_among, reversed_links, topology_from_arrays

MOST_SERVERS = 256
"""Servers of a wiring for which trees are packed: seconds."""
MOST_BEHIND_SWITCHES = 64
"""The same for servers that are joined by switches."""


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Spanning trees of all servers, equal ones in one row.

    Attributes
    ----------
    topology : Topology
        The servers, each pair joined that is so directly or by switches.
    ports : float64 array, shape (links,)
        Part of the ports of the wiring that joins each pair.
    links : int64 array, shape (links,)
        Links of the wiring from one to the other, switches between them: the most on any way.
    per_root : int
        Trees of each server, equal ones counted each.
    root, units : int64 arrays, shape (rows,)
        Root of each tree, and how many are equal.
    parent, depth : int64 arrays, shape (rows, servers)
        Server before each server, -1 for the root, and links from the root.
    """

    topology: Topology
    ports: Floats
    links: Ints
    per_root: int
    root: Ints
    units: Ints
    parent: Ints
    depth: Ints

    @property
    def height(self) -> int:
        """Most servers behind each other in a tree, beside the root."""
        return int(self.depth.max())

    def steps(self, pieces: int) -> int:
        """Return the links that a piece takes one after the other, and a step for every further piece."""
        tree, server = np.nonzero(self.depth > 0)
        longest = np.zeros(self.height, np.int64)
        link = self.topology.link_ids(self.parent[tree, server], server)
        np.maximum.at(longest, self.depth[tree, server] - 1, self.links[link])
        return int(longest.sum()) + pieces - 1

    def volume(self, ports: int, pieces: int) -> float:
        """Return the load of the fullest links, summed over steps, relative to that of ``ports`` with the message.

        Each of the pieces is a step behind the one before.
        """
        tree, server = np.nonzero(self.depth > 0)
        link = self.topology.link_ids(self.parent[tree, server], server)
        load = np.zeros((self.height, len(self.topology)))
        np.add.at(load, (self.depth[tree, server] - 1, link), self.units[tree] / self.ports[link])
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
    n, switches = topology.servers, topology.nodes - topology.servers
    most = MOST_BEHIND_SWITCHES if switches else MOST_SERVERS
    if not 2 <= n <= most or np.bincount(topology.dst, minlength=n)[:n].min() == 0:
        return None
    tight = tightest_set(topology)
    if not tight.ports_out:
        return None
    common = gcd(tight.ratio.denominator, *topology.ports.tolist())
    per_root = tight.ratio.denominator // common
    capacity = np.zeros((topology.nodes, topology.nodes), np.int64)
    capacity[topology.src, topology.dst] = topology.ports // common * tight.ratio.numerator
    links = (capacity > 0).astype(np.int64)
    if switches:
        capacity, splits = past_switches(n, capacity, per_root)
        for before, switch, behind, _ in splits.tolist():
            links[before, behind] = max(links[before, behind], links[before, switch] + links[switch, behind])
    src, dst = np.nonzero(capacity)
    joined = topology_from_arrays(topology.family, n, src, dst, 1.0, 0.0)
    ports = np.asarray(capacity[src, dst] * (common / tight.ratio.numerator), np.float64)
    trees = packed(n, src, dst, capacity[src, dst], per_root)
    return PackedTrees(joined, ports, links[src, dst], per_root, *trees)


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
