"""A wiring file as this program writes it: every port, cable end and ring checked, mistakes named by their line."""

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import validated
from topoopt.topologies.direct_wiring import DirectWiring, WiredRing, turns, wiring_of_arcs
from topoopt.topologies.wirings.connected import refuse_parts
from topoopt.topologies.wirings.file_model import GraphPart, LinkPart, Port, Side, WiringFile, free_ports
from topoopt.topologies.wirings.ports import PortedLinks

_MOST_NAMED = 4  # lines of a server's other cables


def written_wiring(document: Mapping[str, Any], text: str, place: str) -> tuple[DirectWiring, PortedLinks]:
    """Return the wiring and the ports of its links; see :func:`topoopt.topologies.wirings.read_wiring_file`."""
    _check_ends(document.get("links"), text)
    file = validated(WiringFile, document, place)
    graph = file.graph
    if sorted(node.id for node in file.nodes) != list(range(graph.servers)):
        raise InvalidInput(
            f"nodes: expected each of 0..{graph.servers - 1} once, got {len(file.nodes)} nodes"
        )
    if file.directed != (graph.links == "directed"):
        raise InvalidInput(f"directed: {json.dumps(file.directed)} here, {graph.links} links in graph")
    rows = [(link.source, link.source_port, link.target, link.target_port) for link in file.links]
    table = np.array(rows, np.int64).reshape(-1, 4)
    ports = PortedLinks(table[:, 0], table[:, 1], table[:, 2], table[:, 3], graph.interfaces_per_panel)
    _check_ports(graph, ports, text)
    src, dst = ports.src, ports.dst
    arcs = (src, dst)
    if graph.links == "duplex":
        arcs = np.concatenate([src, dst]), np.concatenate([dst, src])
    group = graph.group if turns(arcs, graph.servers, graph.group) else 1
    rings = [
        WiredRing(_checked_ring(graph, index, arcs), ring.share) for index, ring in enumerate(graph.rings)
    ]
    made = wiring_of_arcs(
        graph.family, graph.links, graph.servers, graph.degree, arcs, graph.recipe, rings, group
    )
    refuse_parts(made, lambda server: _place_of(server, ports, text))
    return made, ports


def _check_ends(rows: Any, text: str) -> None:
    """Refuse a cable of which an end is missing."""
    for index, row in enumerate(rows if isinstance(rows, list) else []):
        missing = set(LinkPart.model_fields) - set(row) if isinstance(row, dict) else set()
        if missing:
            said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items())
            raise InvalidInput(
                f"{_line(text, index)}: {said or 'a link'}: an end is missing; "
                f"give its {' and '.join(sorted(missing))}"
            )


def _check_ports(graph: GraphPart, ports: PortedLinks, text: str) -> None:
    """Refuse what cannot be plugged in like this, by server, port and line."""
    duplex = graph.links == "duplex"
    taken: dict[Port, int] = {}
    ends = (("source", ports.src, ports.src_port), ("target", ports.dst, ports.dst_port))
    for side, servers, numbers in ends:
        use: Side = "both" if duplex else "out" if side == "source" else "in"
        for link, (server, port) in enumerate(zip(servers.tolist(), numbers.tolist(), strict=True)):
            if server >= graph.servers:
                raise InvalidInput(
                    f"{_line(text, link)}: {side} {server}, port {port}: servers are 0..{graph.servers - 1}"
                )
            if port >= graph.degree:
                raise InvalidInput(
                    f"{_line(text, link)}: server {server}, port {port}: ports are 0..{graph.degree - 1} for degree "
                    f"{graph.degree}"
                )
            if (use, server, port) in taken:
                first = _line(text, taken[use, server, port])
                raise InvalidInput(
                    f"{_line(text, link)}: server {server}, port {port}: taken by {first}, too"
                )
            taken[use, server, port] = link
    for link in np.flatnonzero(ports.src == ports.dst)[:1].tolist():
        raise InvalidInput(
            f"{_line(text, link)}: server {int(ports.src[link])}, port {int(ports.src_port[link])}: is joined to "
            f"port {int(ports.dst_port[link])} of the same server"
        )
    width = graph.interfaces_per_panel
    for link in np.flatnonzero(ports.src_port // width != ports.dst_port // width)[:1].tolist():
        raise InvalidInput(
            f"{_line(text, link)}: server {int(ports.src[link])}, port {int(ports.src_port[link])} and its other end "
            f"are on two panels of {width} interfaces"
        )
    _check_idle(graph, taken, text)


def _check_idle(graph: GraphPart, taken: Mapping[Port, int], text: str) -> None:
    """Refuse a cable end that is missing, and one that is said to be idle and is not."""
    idle = set(graph.idle)
    for side, server, port in graph.idle:
        if (side, server, port) in taken:
            line = _line(text, taken[side, server, port])
            raise InvalidInput(
                f"graph.idle: server {server}, port {port}: is not idle, a link ends there ({line})"
            )
    for side, server, port in free_ports(graph.servers, graph.degree, graph.links, taken.keys() | idle):
        others = sorted({link for end, link in taken.items() if end[1] == server})[:_MOST_NAMED]
        where = "; its other links: " + ", ".join(_line(text, link) for link in others) if others else ""
        way = "" if side == "both" else f" ({side})"
        raise InvalidInput(
            f"links: server {server}, port {port}{way}: no cable ends there, and graph.idle does not name it; degree "
            f"{graph.degree} needs one in every other port{where}"
        )


def _checked_ring(graph: GraphPart, index: int, arcs: tuple[Ints, Ints]) -> Ints:
    walk = np.array(graph.rings[index].walk, np.int64)
    if len(walk) != graph.servers or (np.sort(walk) != np.arange(graph.servers)).any():
        raise InvalidInput(f"graph.rings[{index}]: expected every server once")
    after = np.roll(walk, -1)
    missing = ~np.isin(walk * graph.servers + after, arcs[0] * graph.servers + arcs[1])
    for step in np.flatnonzero(missing)[:1].tolist():
        raise InvalidInput(f"graph.rings[{index}]: no link {int(walk[step])}->{int(after[step])}")
    return walk


def _place_of(server: int, ports: PortedLinks, text: str) -> str:
    """Return a line and a port of a server."""
    for ends, numbers in ((ports.src, ports.src_port), (ports.dst, ports.dst_port)):
        for link in np.flatnonzero(ends == server)[:1].tolist():
            return f"{_line(text, link)}: server {server}, port {int(numbers[link])}"
    return f"links: server {server}"


def _line(text: str, link: int) -> str:
    """Return where a link stands; of a file that was written otherwise its number."""
    found = [match.start() for match in re.finditer(r'\{[^{}]*"(source|target)(_port)?"\s*:[^{}]*\}', text)]
    return f"line {text.count(chr(10), 0, found[link]) + 1}" if link < len(found) else f"links[{link}]"
