"""Model-parallel links: repeated matchings of the heaviest pairs, each damping what it has served."""

from collections.abc import Callable, Mapping

import numpy as np
import rustworkx as rx
from scipy.optimize import linear_sum_assignment

from topoopt.base.arrays import Floats, Ints

_Pairs = tuple[Ints, Ints]
LARGEST_EXACT = 512
"""Servers up to which duplex matchings are exact: blossom is cubic. Above, the heaviest pairs come first, which
gives at least half of the best weight."""

DAMPING: Mapping[str, Callable[[Floats], Floats]] = {
    "halving": lambda links: np.full(len(links), 0.5),
    "c/(c+1)": lambda links: links / (links + 1),
}
"""Name to the factor for the demand of pairs which have that many links now, the new one included."""


def match_duplex(demand_bytes: Floats) -> _Pairs:
    """Return the matching of most weight, the weight of a pair being its bytes both ways.

    Pairs without demand stay apart. If joining i and i + n/2 is as good as anything can be (as it is for a
    uniform all-to-all), that is taken, since it keeps a circulant a circulant.

    Parameters
    ----------
    demand_bytes : float64 array, shape (servers, servers)

    Returns
    -------
    two int64 arrays, shape (pairs,)
        The ends of each cable, the lower server first.
    """
    weight = demand_bytes + demand_bytes.T
    np.fill_diagonal(weight, 0.0)
    servers = len(weight)
    half = np.arange(servers // 2)
    across = weight[half, half + servers // 2]
    if servers % 2 == 0 and across.all() and 2 * across.sum() >= weight.max(axis=1).sum() * (1 - 1e-12):
        return half, half + servers // 2
    matched = _blossom(weight) if servers <= LARGEST_EXACT else _heaviest_first(weight)
    return matched[:, 0], matched[:, 1]


def match_directed(demand_bytes: Floats) -> _Pairs:
    """Return the permutation without fixed points that serves the most bytes, as sources and destinations.

    Every server has one fiber out and one in, also those without demand; it is empty for one server.
    """
    if len(demand_bytes) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    gain = demand_bytes.copy()
    np.fill_diagonal(gain, -1.0 - gain.sum())
    src, dst = linear_sum_assignment(gain, maximize=True)
    return src.astype(np.int64), dst.astype(np.int64)


MATCHINGS: Mapping[str, Callable[[Floats], _Pairs]] = {
    "duplex": match_duplex,
    "directed": match_directed,
}


def _blossom(weight: Floats) -> Ints:
    i, j = np.nonzero(np.triu(weight))
    if not len(i):
        return np.empty((0, 2), np.int64)
    # rustworkx wants integers: 40 bits keep the order of all weights that matter.
    whole = np.rint(weight[i, j] * (2.0**40 / weight.max())).astype(np.int64)
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(weight)))
    graph.add_edges_from(list(zip(i.tolist(), j.tolist(), whole.tolist(), strict=True)))
    pairs = rx.max_weight_matching(graph, max_cardinality=False, weight_fn=int)
    return np.array(sorted((min(pair), max(pair)) for pair in pairs), np.int64).reshape(-1, 2)


def _heaviest_first(weight: Floats) -> Ints:
    """Match again and again all pairs that are the heaviest of both ends; near-ties are settled by chance."""
    chance = np.random.default_rng(len(weight)).random(len(weight))
    free = np.arange(len(weight))
    matched = []
    while len(free) > 1:
        worth = weight[np.ix_(free, free)]
        worth *= 1 + 1e-7 * ((chance[free, None] + chance[free]) % 1.0)
        partner = worth.argmax(axis=1)
        index = np.arange(len(free))
        mutual = (partner[partner] == index) & (index < partner) & (worth[index, partner] > 0)
        if not mutual.any():
            break
        pairs = np.stack([index, partner], axis=1)[mutual]
        matched.append(free[pairs])
        free = np.delete(free, pairs.ravel())
    return np.concatenate(matched) if matched else np.empty((0, 2), np.int64)
