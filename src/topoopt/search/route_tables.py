"""The links between servers as the search's kernel reads them: of every pair, of a circulant's distances, or walked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric, all_pair_links, next_links, pair_links
from topoopt.search.fan_out_kernel import walk_fan_out
from topoopt.search.tables import coin_of_link, is_shiftable, link_of_coin
from topoopt.topologies import hops_from

LARGEST_TO_LIST = 512
"""Servers up to which the search knows all links of every pair. Above, those of a torus of 1,024 servers alone take
2 GB and a minute of CPU time; there the search counts with one shortest way of each pair, drawn by a hash."""

MAX_FAN_OUT_BYTES = 256e6
"""Largest table of fan-out loads that is kept; 128 servers of degree 4 need 1 MB."""


def route_tables(fabric: Fabric) -> dict[str, Any]:
    """Return every pair's links; for a circulant only those of server 0, the others are shifts of them."""
    topology, servers = fabric.topology, fabric.topology.servers
    nothing = {
        "link_of": np.zeros((1, 1), np.int32),
        "next_link": np.zeros((1, 1), np.int32),
        "link_dst": topology.dst,
    }
    if is_shiftable(fabric):
        destinations = np.arange(1, servers, dtype=np.int64)
        links = pair_links(topology, fabric.routes, np.zeros_like(destinations), destinations)
        node = topology.src[links.link]
        return nothing | {
            "row_first": np.concatenate([[0], links.pair_first]).astype(np.int64),
            "entry": np.stack([node, coin_of_link(topology)[links.link]], axis=1).astype(np.int32),
            "entry_share": links.share,
            "row_hops": np.concatenate([[0.0], links.mean_hops()]),
            "link_of": link_of_coin(topology),
        }
    if servers > LARGEST_TO_LIST:
        return nothing | {
            "row_first": np.zeros(1, np.int64),
            "entry": np.zeros((0, 2), np.int32),
            "entry_share": np.zeros(0),
            "row_hops": np.zeros(0),
            "next_link": next_links(topology),
        }
    links = all_pair_links(topology, fabric.routes)
    return nothing | {
        "row_first": links.pair_first.astype(np.int64),
        "entry": np.stack([links.link, np.zeros_like(links.link)], axis=1).astype(np.int32),
        "entry_share": links.share,
        "row_hops": links.mean_hops(),
    }


def fan_out_table(job: Job, fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the seconds on each link when a server sends one byte to every other one, and the reverse.

    Shape (servers, 2, links); (1, 1, 1) for models without tables and where it would not fit
    :data:`MAX_FAN_OUT_BYTES`.
    """
    topology, servers = fabric.topology, fabric.topology.servers
    has_tables = any(op.is_embedding for op in operators_of(job).graph.operators)
    if not has_tables or servers * 2 * len(topology) * 8 > MAX_FAN_OUT_BYTES:
        return np.zeros((1, 1, 1))
    table = np.zeros((servers, 2, len(topology)))
    if is_shiftable(fabric):
        _shift_fan_out(routes, table)
    elif len(routes["next_link"]) > 1:
        walk_fan_out(routes["next_link"], topology.dst, table)
    else:
        rows = np.repeat(np.arange(len(routes["row_first"]) - 1), np.diff(routes["row_first"]))
        link, share = routes["entry"][:, 0], routes["entry_share"]
        for way, end in enumerate((rows // servers, rows % servers)):
            cells = np.bincount(end * len(topology) + link, share, minlength=servers * len(topology))
            table[:, way] = cells.reshape(servers, len(topology))
    return table * (8.0 / topology.bandwidth_bps)


def _shift_fan_out(routes: Mapping[str, Any], table: Floats) -> None:
    """Fill a circulant's table with what server 0 puts on the links, moved round."""
    (node, coin), link_of = routes["entry"].T.astype(np.int64), routes["link_of"]
    servers, coins = link_of.shape
    rows = np.repeat(np.arange(servers), np.diff(routes["row_first"]))
    sent, got = node * coins + coin, (node - rows) % servers * coins + coin
    of_first = [np.bincount(at, routes["entry_share"], servers * coins) for at in (sent, got)]
    for server in range(servers):
        links = np.roll(link_of, -server, axis=0).ravel()
        table[server, :, links] = np.array(of_first).T


def fan_hops(fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the mean hops of the farthest pair that each server is an end of, shape (servers,)."""
    servers = fabric.topology.servers
    if is_shiftable(fabric):
        return np.full(servers, routes["row_hops"].max())
    if len(routes["next_link"]) > 1:
        links = hops_from(fabric.topology, np.arange(servers))[:, :servers]
        return np.asarray(np.maximum(links.max(axis=0), links.max(axis=1)), np.float64)
    hops: Floats = routes["row_hops"].reshape(servers, servers)
    farthest: Floats = np.maximum(hops.max(axis=0), hops.max(axis=1))
    return farthest
