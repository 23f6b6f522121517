"""Walking over forwarding tables hop by hop, as packets do: what arrives, over which links, and what never does."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing.forwarding.tables import ForwardingTables
from topoopt.routing.pair_links import PairLinks


@dataclass(frozen=True, slots=True)
class Followed:
    """Where the tables lead.

    Attributes
    ----------
    links : PairLinks
        What share of each way crosses each link.
    arrived : float64 array, shape (ways,)
        The share that reaches its destination.
    lost : int64 array
        Ways of which a part comes to a server that has no entry for it.
    circling : int64 array
        Ways of which a part comes to a server twice, and so may go round for ever.
    """

    links: PairLinks
    arrived: Floats
    lost: Ints
    circling: Ints


def follow(tables: ForwardingTables, ways: Ints | None = None) -> Followed:
    """Follow ways from their sources, one link of all of them at a time.

    Parameters
    ----------
    ways : int64 array, optional
        Rows of the tables' ways; all by default.
    """
    topology, rows = tables.topology, np.arange(len(tables.ways)) if ways is None else ways
    src, dst, identity = (column[rows] for column in (tables.ways.src, tables.ways.dst, tables.ways.identity))
    arrived, lost = np.zeros(len(rows)), np.zeros(len(rows), bool)
    way, node, amount = np.arange(len(rows)), src, np.ones(len(rows))
    crossed: list[tuple[Ints, Ints, Floats]] = []
    for _ in range(topology.nodes):  # a longer walk has been somewhere twice
        there = node == dst[way]
        arrived += np.bincount(way[there], amount[there], minlength=len(rows))
        way, node, amount = way[~there], node[~there], amount[~there]
        entry = tables.entries(node, src[way], dst[way], identity[way])
        lost[way[entry < 0]] = True
        way, amount, entry = way[entry >= 0], amount[entry >= 0], entry[entry >= 0]
        if not len(way):
            break
        begin, count = tables.hop_first[entry], tables.hop_first[entry + 1] - tables.hop_first[entry]
        hop = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
        way, amount = np.repeat(way, count), np.repeat(amount, count) * tables.share[hop]
        link = tables.link[hop].astype(np.int64)
        crossed.append((way, link, amount))
        key, inverse = np.unique(way * topology.nodes + topology.dst[link], return_inverse=True)
        way, node = np.divmod(key, topology.nodes)
        amount = np.asarray(np.bincount(inverse, amount), np.float64)
    circling = np.unique(way[node != dst[way]])
    return Followed(_links(len(rows), len(topology), crossed), arrived, rows[lost], rows[circling])


def _links(ways: int, links: int, crossed: list[tuple[Ints, Ints, Floats]]) -> PairLinks:
    """Sum what crosses a link after one hop and what crosses it after more."""
    if not crossed:
        return PairLinks(np.zeros(ways + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    way, link, amount = (np.concatenate(columns) for columns in zip(*crossed, strict=True))
    key, inverse = np.unique(way * links + link, return_inverse=True)
    share = np.asarray(np.bincount(inverse, amount), np.float64)
    first = np.searchsorted(key, np.arange(ways + 1) * links)
    return PairLinks(first, (key % links).astype(np.int32), share)
