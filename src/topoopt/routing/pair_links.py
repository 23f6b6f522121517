"""The noun PairLinks: which links the bytes of a pair cross, and what share of them crosses each."""

from dataclasses import dataclass

import numpy as np

from topoopt.arrays import Floats, Ints, Ints32
from topoopt.errors import NoRoute
from topoopt.routing.path_arrays import PathArrays
from topoopt.topology import Topology


@dataclass(frozen=True, slots=True)
class PairLinks:
    """Links of a list of ordered pairs, by rows.

    The links of pair ``k`` are ``link[pair_first[k] : pair_first[k+1]]``, each once. A pair of a server
    with itself has an empty row.

    Attributes
    ----------
    pair_first : int64 array, shape (pairs+1,)
    link : int32 array, shape (entries,)
        Index of the directed link in the topology.
    share : float64 array, shape (entries,)
        Fraction of the pair's bytes that crosses the link. The shares of a pair sum to its mean hops.
    """

    pair_first: Ints
    link: Ints32
    share: Floats

    def __len__(self) -> int:
        return len(self.pair_first) - 1

    def loads(self, pair_bytes: Floats, links: int) -> Floats:
        """Return the bytes on each of ``links`` links for the bytes of each pair, shape (pairs,)."""
        crossing = np.repeat(pair_bytes, np.diff(self.pair_first)) * self.share
        return np.asarray(np.bincount(self.link, crossing, minlength=links), np.float64)

    def mean_hops(self) -> Floats:
        """Return the mean links a byte of each pair crosses, shape (pairs,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.pair_first))
        return np.asarray(np.bincount(rows, self.share, minlength=len(self)), np.float64)


def links_of_paths(topology: Topology, paths: PathArrays) -> PairLinks:
    """Return the links under node paths, those that several paths of a pair share merged.

    Raises
    ------
    NoRoute
        If a path steps where the topology has no link.
    """
    path_of, link = steps_of_paths(topology, paths)
    pair_of = np.repeat(np.arange(len(paths.path_first) - 1), np.diff(paths.path_first))[path_of]
    return merged_pair_links(len(paths.path_first) - 1, len(topology), pair_of, link, paths.weight[path_of])


def steps_of_paths(topology: Topology, paths: PathArrays) -> tuple[Ints, Ints]:
    """Return path and link of every step of every path, each of shape (steps,)."""
    starts = np.ones(len(paths.nodes), bool)
    starts[paths.node_first[1:] - 1] = False  # the last node of a path starts no step
    at = np.flatnonzero(starts)
    src, dst = paths.nodes[at], paths.nodes[at + 1]
    link = topology.link_ids(src.astype(np.int64), dst.astype(np.int64))
    if (link < 0).any():
        hop = int(np.flatnonzero(link < 0)[0])
        raise NoRoute(f"routes: a path steps {src[hop]}->{dst[hop]}, where the topology has no link")
    path_of = np.repeat(np.arange(len(paths.weight)), np.diff(paths.node_first) - 1)
    return path_of, link


def merged_pair_links(pairs: int, links: int, pair: Ints, link: Ints, share: Floats) -> PairLinks:
    """Return rows from entries in any order, the entries of one pair and link summed.

    A path of weight zero carries nothing, so its links are left out.
    """
    used = share > 0
    pair, link, share = pair[used], link[used], share[used]
    keys, inverse = np.unique(pair * links + link, return_inverse=True)
    summed = np.asarray(np.bincount(inverse, share, minlength=len(keys)), np.float64)
    first = np.searchsorted(keys, np.arange(pairs + 1) * links)
    return PairLinks(first, (keys % max(links, 1)).astype(np.int32), summed)
