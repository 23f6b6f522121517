"""The wiring file: servers and cables as JSON node-link data, which graph libraries read, with how they came about.

``graph`` says format, servers, degree, links (``duplex`` or ``directed``), family, recipe, rings,
``interfaces_per_panel``, and the ports that are idle. Every entry of ``links`` is a cable, or a fiber from source to
target, with the port at either end. The writer puts one link on a line, so that a mistake can be found by its line.
Files without that format are graphs that others wrote (``link_list.py``), or exports of a plan (``file_model.py``).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.units import format_bandwidth
from topoopt.schema.files import checked, parse_json, read_text, validated, with_line, write_atomically
from topoopt.topologies.direct_wiring import DirectWiring, WiredRing, turns, wiring_of_arcs
from topoopt.topologies.wirings.dot import dot_graph
from topoopt.topologies.wirings.file_model import (
    EXPORTED,
    FORMAT,
    GraphPart,
    LinkPart,
    Port,
    PortedLinks,
    Side,
    WiringFile,
    exported_document,
    free_ports,
)
from topoopt.topologies.wirings.foreign_graph import (
    ForeignGraph,
    ForeignLink,
    ForeignNode,
    graphml_graph,
    node_name,
)
from topoopt.topologies.wirings.link_list import listed_graph, listed_wiring, refuse_parts
from topoopt.topologies.wirings.ns3_topology import is_ns3_topology, ns3_graph
from topoopt.topologies.wirings.patch_list import is_patch_list, patch_list_graph

_MOST_NAMED = 4  # lines of a server's other cables
SYNTAX = "node-link JSON"
_KEYS = ("edges", "links")  # networkx writes the first since 3.4, and the second before; exports have both
_DOT = re.compile(
    r"(?:\s++|//[^\n]*+\n|/\*.*?\*/|\#[^\n]*+\n)*+(?:strict\s+)?(?:di)?graph\b[^\[\]\n{]*+\s*+\{",
    re.DOTALL | re.IGNORECASE,
)
_GML = re.compile(r"\s*(?:Creator\b[^\n]*\n\s*)?graph\s*\[", re.IGNORECASE)
_DOT_FILES = (".dot", ".gv")
_REMEDY = "write one with topoopt topology --out"


def write_wiring_file(path: str | Path, wiring: DirectWiring, ports: PortedLinks) -> None:
    """Write a wiring, whole or not at all."""
    graph = wiring_attributes(wiring, ports)
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


def wiring_attributes(wiring: DirectWiring, ports: PortedLinks) -> dict[str, Any]:
    """Return the graph attributes of a wiring file; servers may have more ports than the wiring needs."""
    degree = int(max(wiring.degree, 1 + ports.src_port.max(initial=0), 1 + ports.dst_port.max(initial=0)))
    return {
        "format": FORMAT,
        **fields_of(wiring, "servers", "degree", "links", "family", "group", "recipe"),
        "degree": degree,
        "interfaces_per_panel": ports.interfaces_per_panel,
        "idle": list(free_ports(wiring.servers, degree, wiring.links, _taken(ports, wiring.links))),
        "rings": [{"walk": ring.walk.tolist(), "share": ring.share} for ring in wiring.rings],
    }


def read_wiring_file(
    path: str | Path,
    links: str | None = None,
    degree: int | None = None,
    only_listed: bool = False,
    regular: bool = True,
) -> tuple[DirectWiring, PortedLinks | None]:
    """Return the wiring of a file, and the ports of its links, if the file has them.

    A file of :func:`write_wiring_file` is read with ports and rings, and gives links and degree itself. Other
    files hold a graph: node-link JSON (``edges`` or ``links`` with ``source`` and ``target``), GraphML, DOT, a
    topology of ns-3, or two servers per line, such as ``0 1``; text after a # is a comment. A repeated link has two
    ports. Named servers keep their names in ``recipe["names"]``, with the bandwidth and latency common to all links.

    Parameters
    ----------
    links : str, optional
        ``duplex``: each link is a cable. ``directed``: a fiber from the first to the second. By default as in the
        file, else duplex; if the file has the reverse of every link, each such pair is one cable.
    degree : int, optional
        Ports of a server; of fewer links, ports are idle.
    only_listed : bool
        Whether these two apply only to files without them, and are not compared with those of others.
    regular : bool
        Whether servers with fewer links than others are refused where no ``degree`` is given; else ports are idle.

    Raises
    ------
    InvalidInput
        In one line, with server, port and line, if a port is taken twice, has nothing plugged in or does not exist,
        a server has more links than ports, or servers cannot be reached; if ``links`` or ``degree`` is not the file's.
    """
    text, place = read_text(path), str(path)
    try:
        document = parse_json(text, place, foreign=True) if text.lstrip().startswith(("{", "[")) else None
        said = _format_of(document) if isinstance(document, dict) else None
        if said not in (None, FORMAT, EXPORTED):
            raise InvalidInput(f"expected a wiring file, of format {FORMAT}, got {shown(said)}; {_REMEDY}")
        if said != FORMAT:
            graph = foreign_graph(text, document, path)
            if graph.says.get("format") != EXPORTED:
                return listed_wiring(graph, links, degree, only_listed, regular)
            document = exported_document(graph)
        made, ports = written_wiring(checked(document, place), text, place)
    except InvalidInput as error:
        raise InvalidInput(with_line(str(error), text, place)) from None
    given: tuple[tuple[str, Any, Any], ...] = (("links", links, made.links), ("degree", degree, made.degree))
    for word, asked, has in given:
        if asked not in (None, has) and not only_listed:
            raise InvalidInput(f"{word}: {path} says {has}, got {asked}; leave it out")
    return made, ports


def check_bandwidth(path: str | Path, file_bps: object, asked_bps: float | None) -> None:
    """Refuse a bandwidth asked for that is not the one of the links in a wiring file.

    Raises
    ------
    InvalidInput
        With both bandwidths.
    """
    if isinstance(file_bps, float) and asked_bps is not None and abs(asked_bps - file_bps) > 1e-9 * file_bps:
        raise InvalidInput(
            f"bandwidth: {path} says {format_bandwidth(file_bps)} per link, got {format_bandwidth(asked_bps)}; "
            "leave it out, or remove the bandwidths from the file"
        )


def _format_of(document: Mapping[str, Any]) -> Any:
    """Return the format named in a file; None for files of other programs, whose ``graph`` is theirs.

    Links with exactly the keys of a wiring file are of one, whatever became of its ``graph``.
    """
    graph, rows = document.get("graph", {}), document.get("links")
    keys = set(LinkPart.model_fields)
    ours = (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(row, dict) and set(row) == keys for row in rows)
    )
    if not isinstance(graph, dict) and (ours or not isinstance(graph, list)):
        what = "a mapping with format, servers, degree and links" if ours else "a mapping of attributes"
        raise InvalidInput(f"graph: expected {what}, got {shown(graph)}; {_REMEDY}")
    said = graph.get("format") if isinstance(graph, dict) else None
    if ours and said is None:
        raise InvalidInput(f'graph: missing key "format": expected {FORMAT}; {_REMEDY}')
    return said


def _taken(ports: PortedLinks, links: str) -> set[Port]:
    sides: tuple[Side, Side] = ("both", "both") if links == "duplex" else ("out", "in")
    ends = ((ports.src, ports.src_port), (ports.dst, ports.dst_port))
    return {
        (side, server, port)
        for side, (servers, numbers) in zip(sides, ends, strict=True)
        for server, port in zip(servers.tolist(), numbers.tolist(), strict=True)
    }


def foreign_graph(text: str, document: Any, path: str | Path = "") -> ForeignGraph:
    """Return the nodes and links of a graph file.

    Parameters
    ----------
    document
        Content of the file as JSON; None if it is not JSON.

    Raises
    ------
    InvalidInput
        With the line, or the place in JSON, from the reader of each syntax; for an unsupported syntax.
    """
    if document is not None:
        return node_link_graph(document)
    if text.lstrip().startswith("<"):
        return graphml_graph(text)
    if is_patch_list(text):
        return patch_list_graph(text)
    if Path(path).suffix.lower() in _DOT_FILES or _DOT.match(text):
        return dot_graph(text)
    if _GML.match(text):
        raise InvalidInput(
            "looks like GML, which is not read; write GraphML, such as with networkx.write_graphml"
        )
    return ns3_graph(text) if is_ns3_topology(text) else listed_graph(text)


def node_link_graph(content: Any) -> ForeignGraph:
    """Return the graph of parsed JSON; a bare list of pairs is one, too.

    Raises
    ------
    InvalidInput
        With the place in the document, such as ``edges[3]``, if there is no list of links or an end is missing.
    """
    if isinstance(content, list):
        return ForeignGraph(SYNTAX, (), tuple(_links(content, "")))
    if str(content.get("schema", "")).startswith("topoopt-plan/"):
        raise InvalidInput("is a plan; give the wiring file that topoopt topology writes of it")
    keys = [one for one in _KEYS if isinstance(content.get(one), list)]
    if not keys:
        raise InvalidInput("expected a list of links (edges or links), each with source and target")
    key = keys[0]
    if any(content[other] != content[key] for other in keys):
        raise InvalidInput(
            "edges and links differ; they are the same list for two kinds of readers, keep one"
        )
    nodes, said, directed = content.get("nodes"), content.get("graph"), content.get("directed")
    return ForeignGraph(
        SYNTAX,
        tuple(_nodes(nodes)) if isinstance(nodes, list) else (),
        tuple(_links(content[key], key)),
        directed if isinstance(directed, bool) else None,
        _attributes(said),
        all_named=isinstance(nodes, list) and bool(nodes),
    )


def _nodes(rows: list[Any]) -> Iterator[ForeignNode]:
    for index, row in enumerate(rows):
        place = f"nodes[{index}]"
        if isinstance(row, Mapping) and "id" not in row and "name" not in row:
            raise InvalidInput(f"{place}: expected an id, got {shown(row)}")
        name = row.get("id", row.get("name")) if isinstance(row, Mapping) else row
        yield ForeignNode(place, node_name(name, place), row if isinstance(row, Mapping) else {})


def _links(rows: list[Any], key: str) -> Iterator[ForeignLink]:
    for index, given in enumerate(rows):
        place = f"{key}[{index}]"
        is_pair = isinstance(given, list) and len(given) in (2, 3)  # as of json.dump(list(graph.edges))
        row = {"source": given[0], "target": given[1]} if is_pair else given
        if not isinstance(row, Mapping) or not {"source", "target"} <= set(row):
            raise InvalidInput(f"{place}: expected source and target, got {shown(row)}")
        yield ForeignLink(place, (node_name(row["source"], place), node_name(row["target"], place)), row)


def _attributes(said: Any) -> Mapping[str, Any]:
    """Return the attributes of a graph, which old versions of networkx wrote as a list of pairs."""
    if isinstance(said, list):
        pairs = [pair for pair in said if isinstance(pair, list) and len(pair) == 2]
        return {str(name): value for name, value in pairs}
    return said if isinstance(said, Mapping) else {}


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
    for index, row in enumerate(rows if isinstance(rows, list) else []):
        missing = set(LinkPart.model_fields) - set(row) if isinstance(row, dict) else set()
        if missing:
            said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items())
            raise InvalidInput(
                f"{_line(text, index)}: {said or 'a link'}: an end is missing; "
                f"give its {' and '.join(sorted(missing))}"
            )


def _check_ports(graph: GraphPart, ports: PortedLinks, text: str) -> None:
    """Refuse connections that are impossible, naming server, port and line."""
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
    """Refuse a missing cable end, and one that is marked idle but is not."""
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
    for ends, numbers in ((ports.src, ports.src_port), (ports.dst, ports.dst_port)):
        for link in np.flatnonzero(ends == server)[:1].tolist():
            return f"{_line(text, link)}: server {server}, port {int(numbers[link])}"
    return f"links: server {server}"


def _line(text: str, link: int) -> str:
    found = [match.start() for match in re.finditer(r'\{[^{}]*"(source|target)(_port)?"\s*:[^{}]*\}', text)]
    return f"line {text.count(chr(10), 0, found[link]) + 1}" if link < len(found) else f"links[{link}]"
