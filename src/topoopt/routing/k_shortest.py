"""The k shortest simple paths of a pair, never longer than the shortest plus a stated slack."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.errors import InvalidInput
from topoopt.routing.k_shortest_kernel import fill_next_links, shortest_few
from topoopt.routing.routes import PathArrays, paths_of_pair, paths_of_rows, require_reached, trees_of_pairs
from topoopt.schema.files import Count, Number
from topoopt.topologies import Topology, trees_from, trees_to

_ROWS_AT_ONCE = 1 << 22  # entries of a block of hops: 64 MB with all that comes with them


@dataclass(frozen=True, eq=False)
class SingleShortestRoutes:
    """The path of a pair in the breadth-first tree of its source."""

    topology: Topology
    method: ClassVar[str] = "single-shortest"

    paths = paths_of_pair

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs, walked back from all destinations at once."""
        roots, row = np.unique(src, return_inverse=True)
        trees = trees_from(self.topology, roots)
        hops = trees.hops[row, dst]
        require_reached(hops, src, dst)
        size = np.where(hops > 0, hops + 1, 0).astype(np.int64)
        last = np.cumsum(size) - 1
        nodes = np.empty(int(size.sum()), np.int32)
        here, pair = dst.copy(), np.flatnonzero(hops > 0)
        for back in range(int(hops.max(initial=0)) + 1):
            pair = pair[size[pair] > back]
            nodes[last[pair] - back] = here[pair]
            here[pair] = trees.parent[row[pair], here[pair]]
        present = (hops > 0).astype(np.int64)
        path_first = np.concatenate(([0], np.cumsum(present)))
        node_first = np.concatenate(([0], np.cumsum(size[hops > 0])))
        return PathArrays(path_first, node_first, nodes, np.ones(int(present.sum())))


# Pairs above which those with one destination are looked at together: what is known of its tree is in a fast cache.
_PAIRS_TO_SORT = 1 << 18
Weighting = Literal["equal", "inverse-length"]


@dataclass(frozen=True, eq=False)
class KShortestRoutes:
    """Up to ``k`` paths of each pair, found on demand.

    With the default slack of 0 only shortest paths are used, so forwarding costs no more bytes than it
    must. Where a pair has more shortest paths than ``k``, the choice is spread by a hash of the pair, so
    that low-numbered nodes do not carry everything.

    Attributes
    ----------
    weighting : ``equal`` or ``inverse-length``
        Split of the bytes over the paths; the two differ only with slack.
    seed : int
        Enters the hash.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 1, the routing of model-parallel transfers.
    """

    topology: Topology
    k: Number = 4
    slack: Count = 0
    weighting: Weighting = "equal"
    seed: Count = 0
    method: ClassVar[str] = "k-shortest"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput(f"routing k-shortest: k must be at least 1, got {self.k}")
        if self.slack < 0:
            raise InvalidInput(f"routing k-shortest: slack must be at least 0, got {self.slack}")

    paths = paths_of_pair

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        if len(src) > _PAIRS_TO_SORT and (dst[1:] < dst[:-1]).any():
            order = np.argsort(dst, kind="stable")
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            return paths_of_rows(self.path_arrays(src[order], dst[order]), place)
        topology, (trees, row, a, b) = self.topology, trees_of_pairs(self.topology, src, dst)
        hops, ways = trees.hops, trees.ways
        shortest = np.minimum(ways[row, a], self.k).astype(np.int64)
        most = np.where(a == b, 0, self.k if self.slack else shortest)
        path_first, node_first = np.zeros(len(a) + 1, np.int64), np.empty(int(most.sum()) + 1, np.int64)
        nodes = np.empty(int(most @ (hops[row, a] + 1 + self.slack)), np.int32)
        stack, tried, on_path = np.zeros((3, topology.nodes + 1), np.int32)
        shortest_few(
            topology.first_link, topology.dst, hops, ways, row, a, b, self.k, self.slack, self.seed,
            path_first, node_first, nodes, stack, tried, on_path,
        )  # fmt: skip
        node_first = node_first[: path_first[-1] + 1]
        nodes = nodes[: node_first[-1]]
        length = np.diff(node_first) - 1
        raw = np.ones(len(length)) if self.weighting == "equal" else 1.0 / length
        pair = np.repeat(np.arange(len(src)), np.diff(path_first))
        weight = raw / np.bincount(pair, raw, minlength=len(src))[pair]
        return PathArrays(path_first, node_first, nodes, weight)


def next_links(topology: Topology, seed: int = 0) -> Ints32:
    """Return the link out of each node towards each server, shape (servers, nodes); -1 at the server itself.

    Among several links that lead nearer, one is drawn by a hash of node and server, a link of two ports as often as
    two of one. It takes 4 bytes a pair, where the links of all pairs take a hundred and more.

    Raises
    ------
    NoRoute
        If a server cannot reach another.
    """
    servers = topology.servers
    table = np.empty((servers, topology.nodes), np.int32)
    for block in np.array_split(np.arange(servers), 1 + servers * topology.nodes // _ROWS_AT_ONCE):
        hops = trees_to(topology, block).hops
        lost = np.argwhere(hops[:, :servers] < 0)[:1]
        require_reached(hops[lost[:, 0], lost[:, 1]], lost[:, 1], block[lost[:, 0]])
        fill_next_links(
            topology.first_link, topology.dst, topology.ports, hops, int(block[0]), seed, table[block[0] :]
        )
    return table
