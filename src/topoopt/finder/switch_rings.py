"""Rings through switches: one in member order for each interface of a server."""

import numpy as np

from topoopt.arrays import Ints
from topoopt.routing import Path, Routes, connection_uniform
from topoopt.topology import Ring, Topology


def switch_rings(
    topology: Topology, routes: Routes, members: Ints, limit: int, seed: int
) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings in member order; any order is as good, as switches are alike to all.

    Where servers have several links, ring i leaves each by its link i, so that all interfaces work at once:
    on a rail-optimized fabric it stays on rail i. Of several paths that do so, each edge takes one drawn by
    the seed, as a switch hashes a connection that lasts.
    """
    links = int(np.diff(topology.first_link)[members].min())
    edges = list(zip(members.tolist(), np.roll(members, -1).tolist(), strict=True))
    choices = [_shortest(routes.paths(src, dst)) for src, dst in edges]
    walks: list[tuple[int, ...]] = []
    for ring in range(max(min(links, limit), 1)):
        draw = connection_uniform(seed, ring * topology.nodes + members).tolist()
        walk: list[int] = []
        for (src, _), paths, u in zip(edges, choices, draw, strict=True):
            first = int(topology.dst[topology.first_link[src] + ring])
            usable = [path for path in paths if path.nodes[1] == first] or paths
            walk.extend(usable[int(u * len(usable))].nodes[:-1])
        walks.append(tuple(walk))
    order = tuple(members.tolist())
    return tuple(Ring(1, walk, order) for walk in walks)


def _shortest(paths: tuple[Path, ...]) -> list[Path]:
    fewest = min(path.hops for path in paths)
    return [path for path in paths if path.hops == fewest]
