"""Ports: no server has more links than interfaces, and every cable end has a port of its own, on one panel."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import TopoOptError
from topoopt.base.units import format_bandwidth
from topoopt.finder.rewiring import wire
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject

_SAME = 1e-9


def check_degree(subject: Subject) -> Check:
    """Return whether every server has at most as many links as interfaces; of cables whether each goes both ways."""
    topology = subject.topology
    looked_at = f"{counted(topology.servers, 'server')} of {counted(subject.degree, 'port')}"
    return checked("ports", looked_at, _wrong_links(subject), _in_use(subject))


def _in_use(subject: Subject) -> str:
    used = int(subject.topology.ports[subject.topology.src < subject.topology.servers].sum())
    return f"{used:,} of {subject.topology.servers * subject.degree:,} ports in use"


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
    """Yield links of which the bandwidth is not that of their ports, and those of another latency."""
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
