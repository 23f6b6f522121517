"""The wiring file: servers and cables as JSON node-link data, which graph libraries read, with how they came about.

``graph`` says format, servers, degree, links (``duplex`` or ``directed``), family, recipe, rings,
``interfaces_per_panel``, and the ports that are idle. Every entry of ``links`` is a cable, or a fiber from source to
target, with the port at either end. The writer puts one link on a line, so that a mistake can be found by its line.
"""

import itertools
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from topoopt.errors import InvalidInput
from topoopt.files import Count, Name, Number, Strict, parse_json, read_text, validated, write_atomically
from topoopt.topology import DirectWiring, WiredRing, hops_from, trees_to, wiring_of_arcs
from topoopt.wirings.ports import PortedLinks

FORMAT = "topoopt-wiring/1"
_REMEDY = "write one with topoopt topology --out"


_Side = Literal["both", "out", "in"]
_Port = tuple[_Side, int, int]
"""Side of a port (``both`` of a cable), server, port."""


class _Ring(Strict):
    walk: list[Count]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class _Graph(Strict):
    format: str
    servers: Annotated[int, Field(ge=2, le=1_000_000)]
    degree: Number
    links: Literal["duplex", "directed"]
    family: Name
    group: Number = 1
    recipe: dict[str, Any] = Field(default_factory=dict)
    interfaces_per_panel: Number
    idle: list[_Port] = Field(default_factory=list)
    rings: list[_Ring] = Field(default_factory=list)


class _Node(Strict):
    id: Count


class _Link(Strict):
    source: Count
    source_port: Count
    target: Count
    target_port: Count


class _File(Strict):
    directed: bool
    multigraph: bool
    graph: _Graph
    nodes: list[_Node]
    links: list[_Link]


def write_wiring_file(path: str | Path, wiring: DirectWiring, ports: PortedLinks) -> None:
    """Write a wiring, whole or not at all."""
    graph = {
        "format": FORMAT,
        "servers": wiring.servers,
        "degree": wiring.degree,
        "links": wiring.links,
        "family": wiring.family,
        "group": wiring.group,
        "recipe": wiring.recipe,
        "interfaces_per_panel": ports.interfaces_per_panel,
        "idle": _free_ports(wiring.servers, wiring.degree, wiring.links, _taken(ports, wiring.links)),
        "rings": [{"walk": ring.walk.tolist(), "share": ring.share} for ring in wiring.rings],
    }
    nodes = ", ".join(f'{{"id": {server}}}' for server in range(wiring.servers))
    columns = (ports.src, ports.src_port, ports.dst, ports.dst_port)
    links = ",\n".join(
        f'  {{"source": {a}, "source_port": {p}, "target": {b}, "target_port": {q}}}'
        for a, p, b, q in zip(*(column.tolist() for column in columns), strict=True)
    )
    directed = json.dumps(wiring.links == "directed")
    write_atomically(
        path,
        f'{{\n "directed": {directed},\n "multigraph": true,\n "graph": {json.dumps(graph)},\n "nodes": [{nodes}],\n'
        f' "links": [\n{links}\n ]\n}}\n',
    )


def read_wiring_file(path: str | Path) -> tuple[DirectWiring, PortedLinks]:
    """Return the wiring of a file, and the ports of its links.

    Raises
    ------
    InvalidInput
        In one line, if it is no wiring file, or a port is taken twice, has nothing plugged in or does not exist,
        with server, port and line; if it falls into parts.
    """
    text, place = read_text(path), str(path)
    document = parse_json(text, place, "expected a wiring file")
    graph = document.get("graph") if isinstance(document, dict) else None
    if not isinstance(graph, dict) or graph.get("format") != FORMAT:
        raise InvalidInput(f"{place}: expected a wiring file, of format {FORMAT}; {_REMEDY}")
    file = validated(_File, document, place)
    try:
        return _wiring(file, text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _wiring(file: _File, text: str) -> tuple[DirectWiring, PortedLinks]:
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
    group = graph.group if _turns(arcs, graph.servers, graph.group) else 1
    rings = [
        WiredRing(_checked_ring(graph, index, arcs), ring.share) for index, ring in enumerate(graph.rings)
    ]
    made = wiring_of_arcs(
        graph.family, graph.links, graph.servers, graph.degree, arcs, graph.recipe, rings, group
    )
    _check_connected(made)
    return made, ports


def _check_ports(graph: _Graph, ports: PortedLinks, text: str) -> None:
    """Refuse what cannot be plugged in like this, by server, port and line."""
    duplex = graph.links == "duplex"
    taken: dict[_Port, int] = {}
    ends = (("source", ports.src, ports.src_port), ("target", ports.dst, ports.dst_port))
    for side, servers, numbers in ends:
        use: _Side = "both" if duplex else "out" if side == "source" else "in"
        for link, (server, port) in enumerate(zip(servers.tolist(), numbers.tolist(), strict=True)):
            if server >= graph.servers:
                raise InvalidInput(
                    f"{_line(text, link)}: {side} {server}: servers are 0..{graph.servers - 1}"
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
        raise InvalidInput(f"{_line(text, link)}: server {int(ports.src[link])} is joined to itself")
    width = graph.interfaces_per_panel
    for link in np.flatnonzero(ports.src_port // width != ports.dst_port // width)[:1].tolist():
        raise InvalidInput(
            f"{_line(text, link)}: server {int(ports.src[link])}, port {int(ports.src_port[link])} and its other end "
            f"are on two panels of {width} interfaces"
        )
    _check_pairs(graph, taken)


def _taken(ports: PortedLinks, links: str) -> set[_Port]:
    sides: tuple[_Side, _Side] = ("both", "both") if links == "duplex" else ("out", "in")
    ends = ((ports.src, ports.src_port), (ports.dst, ports.dst_port))
    return {
        (side, server, port)
        for side, (servers, numbers) in zip(sides, ends, strict=True)
        for server, port in zip(servers.tolist(), numbers.tolist(), strict=True)
    }


def _check_pairs(graph: _Graph, taken: dict[_Port, int]) -> None:
    """Refuse a cable end that is missing, and one that is said to be idle and is not."""
    free = set(_free_ports(graph.servers, graph.degree, graph.links, taken))
    for side, server, port in sorted(set(graph.idle) ^ free, key=lambda end: end[1:])[:1]:
        if (side, server, port) in taken:
            raise InvalidInput(f"graph.idle: server {server}, port {port}: a link ends there")
        raise InvalidInput(
            f"links: server {server}, port {port}: no cable ends there, and graph.idle does not name it; "
            f"degree {graph.degree} needs one in every other port"
        )


def _free_ports(servers: int, degree: int, links: str, taken: Collection[_Port]) -> list[_Port]:
    sides: tuple[_Side, ...] = ("both",) if links == "duplex" else ("out", "in")
    every = itertools.product(sides, range(servers), range(degree))
    return [end for end in every if end not in taken]


def _check_connected(wiring: DirectWiring) -> None:
    """Refuse two parts, by a server of each."""
    topology, root = wiring.topology(), np.array([0])
    for hops, words in (
        (hops_from(topology, root), "0 cannot reach {}"),
        (trees_to(topology, root).hops, "{} cannot reach 0"),
    ):
        for server in np.flatnonzero(hops[0] < 0)[:1].tolist():
            raise InvalidInput(f"links: falls into parts: server {words.format(server)}")


def _turns(arcs: tuple[np.ndarray, np.ndarray], servers: int, group: int) -> bool:
    """Return whether s → s + servers/group leaves the links as they are."""
    if group < 2 or servers % group:
        return False
    src, dst = arcs
    moved = [(end + servers // group) % servers for end in arcs]
    return bool((np.sort(src * servers + dst) == np.sort(moved[0] * servers + moved[1])).all())


def _checked_ring(graph: _Graph, index: int, arcs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    walk = np.array(graph.rings[index].walk, np.int64)
    if len(walk) != graph.servers or (np.sort(walk) != np.arange(graph.servers)).any():
        raise InvalidInput(f"graph.rings[{index}]: expected every server once")
    after = np.roll(walk, -1)
    missing = ~np.isin(walk * graph.servers + after, arcs[0] * graph.servers + arcs[1])
    for step in np.flatnonzero(missing)[:1].tolist():
        raise InvalidInput(f"graph.rings[{index}]: no link {int(walk[step])}->{int(after[step])}")
    return walk


def _line(text: str, link: int) -> str:
    """Return where a link stands; of a file that was written otherwise its number."""
    found = [match.start() for match in re.finditer(r'"source"\s*:', text)]
    return f"line {text.count(chr(10), 0, found[link]) + 1}" if link < len(found) else f"links[{link}]"
