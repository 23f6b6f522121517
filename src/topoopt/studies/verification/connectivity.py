"""Connectivity: every server reaches every other, with all links and after the loss of any one of them.

Bridges: cables without which a network falls into two parts.

References
----------
.. [1] R. E. Tarjan, "A note on finding the bridges of a graph", Information Processing Letters 2, 1974.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from topoopt.base.arrays import Ints
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject
from topoopt.topologies import Topology


def check_connected(subject: Subject) -> Check:
    """Return whether every server reaches every other."""
    count, part = _parts(subject.topology)
    servers = subject.topology.servers
    first = {int(label): int(index) for index, label in reversed(list(enumerate(part[:servers])))}
    apart = sorted(first.values())[1:] if count > 1 else []
    return checked(
        "connectivity",
        counted(servers * (servers - 1), "ordered pair"),
        (
            f"{subject.server(server)}: {subject.server(0)} does not reach it, or it not that one; join the parts"
            for server in apart
        ),
    )


def check_single_failures(subject: Subject) -> Check:
    """Return whether every server still reaches every other when any one cable or fiber is lost."""
    topology = subject.topology
    count, part = _parts(topology)
    if count > 1 and len(np.unique(part[: topology.servers])) > 1:
        return Check("single failures", skipped="servers are apart already")
    duplex = topology.both_ways
    cables = int(topology.ports.sum()) // (2 if duplex else 1)
    what = "cable" if duplex else "fiber"
    return checked(
        "single failures",
        counted(cables, what),
        (
            f"{what} {subject.pair(a, b)}: without it {subject.server(cut)} is cut off from {subject.server(rest)}; "
            "join them another way, too"
            for a, b, cut, rest in (_bridges if duplex else _strong_bridges)(topology)
        ),
    )


def _parts(topology: Topology) -> tuple[int, Ints]:
    count, part = connected_components(_matrix(topology), directed=True, connection="strong")
    return int(count), part.astype(np.int64)


def _matrix(topology: Topology) -> csr_array:
    first = topology.first_link.astype(np.int32)
    return csr_array((np.ones(len(topology)), topology.dst, first), shape=(topology.nodes, topology.nodes))


def _bridges(topology: Topology) -> Iterator[tuple[int, int, int, int]]:
    """Yield cables whose loss parts servers: both ends, and a server at either side."""
    for a, b in bridges(topology):
        behind = _reached(topology, b, (a, b), (b, a))
        inside = np.flatnonzero(behind[: topology.servers])
        outside = np.flatnonzero(~behind[: topology.servers])
        if len(inside) and len(outside):
            yield a, b, int(inside[0]), int(outside[0])


def _strong_bridges(topology: Topology) -> Iterator[tuple[int, int, int, int]]:
    """Yield fibers whose loss parts servers.

    Such a fiber is in every tree of ways from a server and in every one of ways to it: of no other it need be tried.
    """
    trees = set[tuple[int, int]]()
    matrix = _matrix(topology)
    for turned, away in ((matrix, True), (csr_array(matrix.T), False)):
        _, before = breadth_first_order(turned, 0)
        for node in np.flatnonzero(before >= 0).tolist():
            trees.add((int(before[node]), node) if away else (node, int(before[node])))
    for a, b in sorted(trees):
        if topology.ports[topology.link_id(a, b)] > 1:
            continue
        reached = _reached(topology, a, (a, b))
        if not reached[b]:
            yield a, b, b, a


def _reached(
    topology: Topology, start: int, *without: tuple[int, int]
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which nodes a walk from one reaches that does not take some links."""
    kept = np.ones(len(topology), bool)
    kept[[topology.link_id(a, b) for a, b in without]] = False
    first = np.concatenate(([0], np.cumsum(kept)))[topology.first_link].astype(np.int32)
    matrix = csr_array(
        (np.ones(int(kept.sum())), topology.dst[kept], first), shape=(topology.nodes, topology.nodes)
    )
    reached = np.zeros(topology.nodes, np.bool_)
    reached[breadth_first_order(matrix, start, return_predecessors=False)] = True
    return reached


def bridges(topology: Topology) -> list[tuple[int, int]]:
    """Return the cables that are bridges, each as (nearer to node 0, farther), in order.

    A walk into the depth gives every node a number and the lowest number that one below it is joined with, over
    another cable than the one that the walk came by. Where that is no lower than the node itself, that cable is the
    only way. Parallel cables are none.
    """
    first, neighbor = topology.first_link.tolist(), topology.dst.tolist()
    ports = topology.ports.tolist()
    number, low = [-1] * topology.nodes, [0] * topology.nodes
    found, count = [], 0
    for root in range(topology.nodes):
        if number[root] >= 0:
            continue
        number[root] = low[root] = count
        count += 1
        walk = [(root, -1, first[root], 2)]  # node, where from, next link, ports of the cable in between
        while walk:
            node, above, link, width = walk.pop()
            if link < first[node + 1]:
                walk.append((node, above, link + 1, width))
                other = neighbor[link]
                if number[other] < 0:
                    number[other] = low[other] = count
                    count += 1
                    walk.append((other, node, first[other], ports[link]))
                elif other != above:
                    low[node] = min(low[node], number[other])
            elif above >= 0:
                low[above] = min(low[above], low[node])
                if low[node] == number[node] and width == 1:
                    found.append((above, node))
    return sorted(found)
