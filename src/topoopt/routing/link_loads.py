"""Bytes on each link for given demands, whatever made the routes."""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.link_rows import LinkRows, own_rows
from topoopt.routing.pair_links import PairLinks, joined_pairs, links_of_paths
from topoopt.routing.path_arrays import path_arrays
from topoopt.routing.routes import Routes
from topoopt.routing.turned import TurnedRoutes
from topoopt.topologies import Topology

# Pairs whose links are held at once: a few hundred megabytes at most.
_PAIRS_AT_ONCE = 1 << 18


def pair_links(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> PairLinks:
    """Return which links of ``topology`` each ordered pair uses, and by what share.

    Coin-change and ECMP routes know it without listing paths, turned ones from few of them.

    Parameters
    ----------
    src, dst : int arrays, shape (pairs,)

    Raises
    ------
    NoRoute
        If a pair cannot be reached, or a route uses a link that ``topology`` does not have.
    """
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    if isinstance(routes, EcmpRoutes) and routes.topology is topology:
        return routes.pair_links(src, dst)
    if isinstance(routes, CoinChangeRoutes | TurnedRoutes) and routes.topology is topology:
        return routes.link_rows(src, dst).laid_out()
    return links_of_paths(topology, path_arrays(routes, src, dst))


def link_rows(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> LinkRows:
    """Return the same by rows that pairs have in common, where links that a turn leads to each other are alike.

    Raises
    ------
    NoRoute
        As :func:`pair_links`.
    """
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    turned = routes if isinstance(routes, CoinChangeRoutes | TurnedRoutes) else None
    if turned is not None and turned.topology is topology and turned.links_alike:
        return turned.link_rows(src, dst)
    if len(src) <= _PAIRS_AT_ONCE or isinstance(routes, CoinChangeRoutes | EcmpRoutes):
        return own_rows(pair_links(topology, routes, src, dst), len(topology))
    # Paths are found along trees to destinations: pairs with the same one stand together, a few trees at a time.
    order = np.argsort(dst, kind="stable")
    blocks = (order[start : start + _PAIRS_AT_ONCE] for start in range(0, len(order), _PAIRS_AT_ONCE))
    rows = joined_pairs([links_of_paths(topology, path_arrays(routes, src[one], dst[one])) for one in blocks])
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return replace(own_rows(rows, len(topology)), row=place)


def all_pair_links(topology: Topology, routes: Routes) -> PairLinks:
    """Return the links of every ordered pair of servers; the row of (src, dst) is ``src * servers + dst``.

    Meant for up to about a thousand servers: the answer has servers² · hops entries.
    """
    server = np.arange(topology.servers)
    return pair_links(
        topology, routes, np.repeat(server, topology.servers), np.tile(server, topology.servers)
    )


def link_loads(topology: Topology, routes: Routes, demand: Floats) -> Floats:
    """Return the bytes on each link, shape (links,), for a demand matrix (servers, servers) in bytes.

    The diagonal is ignored. Coin-change routes take O(n²) vector steps and hold no pair; others are
    worked through in blocks of pairs that share destinations.

    Raises
    ------
    InvalidInput
        If the demand is not of shape (servers, servers).
    NoRoute
        If a pair with demand cannot be reached.
    """
    n = topology.servers
    if demand.shape != (n, n):
        raise InvalidInput(f"demand: expected {n}×{n} for {n} servers, got {demand.shape}")
    if isinstance(routes, CoinChangeRoutes) and routes.topology is topology:
        return routes.link_bytes(demand)
    dst, src = np.nonzero(demand.T)
    src, dst = src[src != dst], dst[src != dst]
    load = np.zeros(len(topology))
    for start in range(0, len(src), _PAIRS_AT_ONCE):
        a, b = src[start : start + _PAIRS_AT_ONCE], dst[start : start + _PAIRS_AT_ONCE]
        load += pair_links(topology, routes, a, b).loads(demand[a, b], len(topology))
    return load
