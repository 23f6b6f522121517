"""Checks of a wiring: ports, connectivity after any failure of one link, and rings.

Bridges are cables without which a network falls into two parts.

References
----------
.. [1] R. E. Tarjan, "A note on finding the bridges of a graph", Information Processing Letters 2, 1974.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import TopoOptError
from topoopt.base.units import format_bandwidth
from topoopt.finder.rewiring import wire
from topoopt.studies.verification.subject import Check, Subject, checked, counted
from topoopt.topologies import Ring, Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SAME = 1e-9


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
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    count, part = connected_components(_matrix(topology), directed=True, connection="strong")
    return int(count), part.astype(np.int64)


def _matrix(topology: Topology) -> "csr_array":
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

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

    Such a fiber is in every tree of paths from a server and in every tree of paths to it: only those are tried.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - slow to import

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
    """Return the nodes reachable from ``start`` without some links."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - slow to import

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


def check_degree(subject: Subject) -> Check:
    """Return whether no server has more links than interfaces, and whether every cable is bidirectional."""
    topology = subject.topology
    looked_at = f"{counted(topology.servers, 'server')} of {counted(subject.degree, 'port')}"
    used = int(subject.topology.ports[subject.topology.src < subject.topology.servers].sum())
    in_use = f"{used:,} of {subject.topology.servers * subject.degree:,} ports in use"
    return checked("ports", looked_at, _wrong_links(subject), in_use)


def _wrong_links(subject: Subject) -> Iterator[str]:
    topology = subject.topology
    for way, ends in (("out", topology.src), ("in", topology.dst)):
        has = np.bincount(ends, topology.ports, minlength=topology.nodes)[: topology.servers]
        for server in np.flatnonzero(has > subject.degree).tolist():
            yield (
                f"{subject.server(server)} has {int(has[server])} links {way} and {subject.degree} ports; take "
                "some away"
            )
    if subject.links == "duplex":
        back = topology.link_ids(topology.dst, topology.src)
        for link in np.flatnonzero((back < 0) | (topology.ports[back] != topology.ports)).tolist():
            a, b = int(topology.src[link]), int(topology.dst[link])
            home = int(topology.ports[back[link]]) if back[link] >= 0 else 0
            yield (
                f"link {subject.pair(a, b)}: {int(topology.ports[link])} there and {home} back, and a cable is both"
            )
    yield from _wrong_bandwidths(subject)


def _wrong_bandwidths(subject: Subject) -> Iterator[str]:
    """Yield links whose bandwidth is not that of their ports, or whose latency differs."""
    if subject.plan is None or subject.on_switches:
        return
    topology, cluster = subject.topology, subject.plan.job.cluster
    due = topology.ports * cluster.link_bandwidth_bps
    for link in np.flatnonzero(np.abs(topology.bandwidth_bps - due) > _SAME * due).tolist():
        yield (
            f"link {subject.pair(int(topology.src[link]), int(topology.dst[link]))}: "
            f"{format_bandwidth(topology.bandwidth_bps[link])}, and {counted(int(topology.ports[link]), 'port')} of "
            f"{format_bandwidth(cluster.link_bandwidth_bps)} are {format_bandwidth(due[link])}"
        )
    for link in np.flatnonzero(topology.latency_s != cluster.link_latency_s).tolist():
        yield (
            f"link {subject.pair(int(topology.src[link]), int(topology.dst[link]))}: latency "
            f"{topology.latency_s[link]:g} s, that of the cluster {cluster.link_latency_s:g} s"
        )


def check_panels(subject: Subject) -> Check:
    """Return whether the links can be patched: a port for every cable end, both ends on one panel."""
    if subject.on_switches:
        return Check("panels", skipped="servers hang on switches; there is no patch panel")
    if subject.ports is not None:
        ports = subject.ports
        ends = ports.src, ports.src_port, ports.dst, ports.dst_port
        return _patched(subject, ends, ports.interfaces_per_panel)
    try:
        wiring = wire(subject.topology, subject.degree, subject.links)
    except TopoOptError as error:
        return Check("panels", "links", (str(error),), 1)
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in wiring.patches]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return _patched(
        subject, (table[:, 0], table[:, 1], table[:, 2], table[:, 3]), wiring.interfaces_per_panel
    )


def _patched(subject: Subject, ends: tuple[Ints, Ints, Ints, Ints], width: int) -> Check:
    panels = -(-subject.degree // width)
    what = "cable" if subject.links == "duplex" else "fiber"
    looked_at = f"{counted(len(ends[0]), what)} on {counted(panels, 'panel')}"
    note = f"{counted(width, 'interface')} of every server on each panel"
    return checked("panels", looked_at, _wrong_patches(subject, ends, width), note)


def _wrong_patches(subject: Subject, ends: tuple[Ints, Ints, Ints, Ints], width: int) -> Iterator[str]:
    duplex = subject.links == "duplex"
    taken: Counter[tuple[str, int, int]] = Counter()
    joined: Counter[tuple[int, int]] = Counter()
    for a, p, b, q in zip(*(column.tolist() for column in ends), strict=True):
        if p // width != q // width:
            yield f"link {subject.pair(a, b)}: ports {p} and {q} are on two panels of {width} interfaces"
        for side, server, port in (("out", a, p), ("in", b, q)):
            taken["both" if duplex else side, server, port] += 1
            if not 0 <= port < subject.degree:
                yield f"{subject.server(server)}: port {port}; ports are 0..{subject.degree - 1}"
        joined[a, b] += 1
        joined[b, a] += duplex
    for (_, server, port), count in taken.items():
        if count > 1:
            yield f"{subject.server(server)}: port {port} is taken by {count} links"
    topology = subject.topology
    due = Counter(
        dict(
            zip(
                zip(topology.src.tolist(), topology.dst.tolist(), strict=True),
                topology.ports.tolist(),
                strict=True,
            )
        )
    )
    for a, b in sorted((due - joined) + (joined - due)):
        yield f"link {subject.pair(a, b)}: {due[a, b]} in the wiring, {joined[a, b]} patched"


def check_rings(subject: Subject) -> Check:
    """Return whether all rings are rings."""
    rings = _rings(subject)
    count = sum(map(len, rings.values()))
    if subject.plan is None and not count:
        return Check("rings", skipped="no ring of all servers over direct links was found")
    looked_at = f"{counted(count, 'ring')} of {counted(len(rings), 'group')}"
    return checked(
        "rings", looked_at, _wrong_rings(subject, rings), "found here" if subject.rings_found else ""
    )


def _rings(subject: Subject) -> dict[tuple[int, ...], Sequence[Ring]]:
    if subject.plan is not None:
        return dict(subject.plan.fabric.rings)
    assert subject.wiring is not None
    everyone = tuple(range(subject.topology.servers))
    return {everyone: subject.wiring.split_rings()} if subject.wiring.rings else {}


def _wrong_rings(subject: Subject, rings: dict[tuple[int, ...], Sequence[Ring]]) -> Iterator[str]:
    for members, of_group in rings.items():
        for number, ring in enumerate(of_group):
            place = f"ring {number} of {_group(subject, members)}"
            for reason in _wrong_ring(subject, members, ring):
                yield f"{place}: {reason}"
    if subject.plan is not None:
        for group in subject.plan.traffic().allreduce:
            if not rings.get(group.members):
                yield f"{_group(subject, group.members)}: reduces {group.size_bytes:,} bytes and has no ring"


def _wrong_ring(subject: Subject, members: tuple[int, ...], ring: Ring) -> Iterator[str]:
    met = Counter(ring.members)
    for server in sorted(set(members) - set(met)):
        yield f"does not meet {subject.server(server)}"
    for server in sorted(set(met) - set(members)):
        yield f"meets {subject.server(server)}, which is not in the group"
    for server in sorted(server for server, count in met.items() if count > 1):
        yield f"meets {subject.server(server)} {met[server]} times"
    if not _in_order(ring.walk, ring.members):
        yield "its walk does not meet the members in their order"
    for a, b in zip(ring.walk, (*ring.walk[1:], ring.walk[0]), strict=True):
        if a != b and not _has_link(subject.topology, a, b):
            yield f"there is no link {subject.pair(a, b)}"


def _has_link(topology: Topology, a: int, b: int) -> bool:
    return min(a, b) >= 0 and max(a, b) < topology.nodes and topology.link_id(a, b) >= 0


def _in_order(walk: Sequence[int], members: Sequence[int]) -> bool:
    """Return whether the members come in this order on a walk, which may cross others in between."""
    if tuple(walk) == tuple(members):
        return True
    rest = iter(walk)
    return all(member in rest for member in members)


def _group(subject: Subject, members: tuple[int, ...]) -> str:
    if len(members) == subject.topology.servers:
        return "all servers"
    return f"the {len(members)} servers {', '.join(map(str, members[:3]))}{' …' if len(members) > 3 else ''}"
