"""Rings through switches: one in member order for each interface of a server."""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.routing import Routes, connection_uniform, path_arrays
from topoopt.topologies import Ring, Topology


def switch_rings(
    topology: Topology, routes: Routes, members: Ints, limit: int, seed: int
) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings in member order; any order is as good, as switches are alike to all.

    Where servers have several links, ring i leaves each by its link i, so that all interfaces work at once:
    on a rail-optimized fabric it stays on rail i. Of several paths that do so, each edge takes one drawn by
    the seed, as a switch hashes a connection that lasts.
    """
    paths = path_arrays(routes, members, np.roll(members, -1))
    hops = np.diff(paths.node_first) - 1
    edge = np.repeat(np.arange(len(members)), np.diff(paths.path_first))
    shortest = hops == np.minimum.reduceat(hops, paths.path_first[:-1])[edge]
    second = paths.nodes[paths.node_first[:-1] + 1]

    links = int(np.diff(topology.first_link)[members].min())
    order = tuple(members.tolist())
    rings: list[Ring] = []
    for ring in range(max(min(links, limit), 1)):
        by_link = shortest & (second == topology.dst[topology.first_link[members] + ring][edge])
        others = np.bincount(edge[by_link], minlength=len(members)) == 0
        draw = connection_uniform(seed, ring * topology.nodes + members)
        chosen = _drawn(by_link | shortest & others[edge], edge, draw)
        ends = zip(paths.node_first[chosen].tolist(), paths.node_first[chosen + 1].tolist(), strict=True)
        nodes = [paths.nodes[begin : end - 1] for begin, end in ends]
        rings.append(Ring(1, tuple(np.concatenate(nodes).tolist()), order))
    return tuple(rings)


def _drawn(usable: np.ndarray, edge: Ints, draw: np.ndarray) -> Ints:
    """Return one of the usable paths of each edge, by a number in 0..1 for each."""
    rows = np.flatnonzero(usable)
    count = np.bincount(edge[rows], minlength=len(draw))
    chosen: Ints = rows[np.cumsum(count) - count + (draw * count).astype(np.int64)]
    return chosen
