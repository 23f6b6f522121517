"""The optimum of the highest link load on a circulant whose demand depends on distance only.

All links of one offset are alike, so one source speaks for all and the loads are as few as the offsets.
The program is solved by its columns: given a price of each offset, the cheapest tree from server 0 puts so
many bytes on each offset (a column) and its cost is a lower bound; the best mix of the columns so far gives
the upper bound and new prices. The two meet after some dozens of trees, however many servers there are.
"""

import numpy as np
from scipy.optimize import linprog

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing.load_optimum import LoadOptimum, interval
from topoopt.routing.rerouting import graph_of
from topoopt.routing.rerouting_kernel import tree_loads
from topoopt.topologies import Topology, links_along

_MOST_TREES = 300
_CLOSE = 1e-7
_SAME = 1e-9


def demand_by_distance(topology: Topology, demand: Floats, background_s: Floats) -> Floats | None:
    """Return the bytes for each distance, or None where servers differ in demand, links or background."""
    if not topology.offsets or topology.nodes != topology.servers:
        return None
    n = topology.servers
    at = np.arange(n)
    turned = demand[at[:, None], (at[:, None] + at) % n]
    links = links_along(topology, topology.offsets)
    alike = (turned, topology.bandwidth_bps[links], background_s[links])
    if not all(np.allclose(values, values[0], rtol=_SAME, atol=0.0) for values in alike):
        return None
    return np.array(turned[0])


def circulant_max_load(
    topology: Topology,
    by_distance: Floats,
    background_bytes: Floats | None = None,
) -> LoadOptimum:
    """Return the least possible highest link load when every pair at distance D has ``by_distance[D]`` bytes.

    Parameters
    ----------
    by_distance : float64 array, shape (servers,)
        Entry 0 is ignored.
    background_bytes : float64 array, shape (links,), optional
        Bytes that cross each link anyway, equal on all links of an offset.

    Raises
    ------
    InvalidInput
        If the topology is no circulant.
    NoRoute
        If the offsets do not connect the servers.
    """
    if not topology.offsets:
        raise InvalidInput(f"circulant bound: needs a circulant, got {topology.family}")
    links = links_along(topology, topology.offsets)[0]
    rate = topology.bandwidth_bps[links] / 8
    before = np.zeros(len(links)) if background_bytes is None else background_bytes[links]
    demand = by_distance.astype(np.float64)
    demand[0] = 0.0
    unit, fastest = max(float(demand.sum()), float(before.max()), 1e-300), float(rate.max())
    upper, lower = _by_columns(topology, demand / unit, before / unit, rate / fastest)
    return interval(upper * unit / fastest, lower * unit / fastest, "columns")


def _by_columns(topology: Topology, demand: Floats, before: Floats, rate: Floats) -> tuple[float, float]:
    price = 1.0 / rate
    columns: list[Floats] = []
    upper, lower = np.inf, float((before / rate).max())
    for _ in range(_MOST_TREES):
        column = _class_bytes(topology, demand, price)
        lower = max(lower, float((column + before) @ price / (rate @ price)))
        columns.append(column)
        upper, dual = _best_mix(np.array(columns).T, before, rate)
        if lower >= upper * (1 - _CLOSE):
            break
        # Halfway to the new prices: the pure ones swing between the offsets. The floor forbids free links.
        price = 0.5 * price / (rate @ price) + 0.5 * dual + 1e-9
    return upper, lower


def _class_bytes(topology: Topology, demand: Floats, price: Floats) -> Floats:
    """Return the bytes on each offset of the cheapest tree from server 0."""
    n, d = topology.servers, len(price)
    step = (topology.dst.astype(np.int64) - topology.src) % n
    coin = np.searchsorted(np.array(topology.offsets), step)
    graph, load = graph_of(topology), np.empty(len(coin))
    tree_loads(graph, price[coin], 0, demand, load)
    if not np.isfinite(graph.far).all():
        raise NoRoute(f"no route 0->{int(np.argmax(graph.far))}: the offsets do not connect the servers")
    return np.asarray(np.bincount(coin, load, d), np.float64)


def _best_mix(columns: Floats, before: Floats, rate: Floats) -> tuple[float, Floats]:
    """Return the lowest highest load of a mix of columns, shape (offsets, columns), and the prices of it."""
    k = columns.shape[1]
    cost = np.zeros(k + 1)
    cost[-1] = 1.0
    optimum = linprog(
        cost,
        np.hstack((columns, -rate[:, None])),
        -before,
        np.append(np.ones(k), 0.0)[None, :],
        np.ones(1),
        method="highs",
    )
    assert optimum.status == 0, optimum.message
    assert optimum.fun is not None
    return float(optimum.fun), np.maximum(-np.asarray(optimum.ineqlin.marginals, np.float64), 0.0)
