"""The wiring file: servers and cables as JSON node-link data, which graph libraries read, with how they came about.

``graph`` says format, servers, degree, links (``duplex`` or ``directed``), family, recipe, rings,
``interfaces_per_panel``, and the ports that are idle. Every entry of ``links`` is a cable, or a fiber from source to
target, with the port at either end. The writer puts one link on a line, so that a mistake can be found by its line.
Files without that format are graphs that others wrote (``syntax.py``), or exports of a plan (``exported_graph.py``).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.schema.files import checked, parse_json, read_text, with_line, write_atomically
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.wirings.exported_graph import EXPORTED, exported_document
from topoopt.topologies.wirings.file_model import FORMAT, LinkPart, Port, Side, free_ports
from topoopt.topologies.wirings.link_list import listed_wiring
from topoopt.topologies.wirings.ports import PortedLinks
from topoopt.topologies.wirings.syntax import foreign_graph
from topoopt.topologies.wirings.written_wiring import written_wiring

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
    """Return what a wiring file says of the wiring as a whole."""
    return {
        "format": FORMAT,
        "servers": wiring.servers,
        "degree": wiring.degree,
        "links": wiring.links,
        "family": wiring.family,
        "group": wiring.group,
        "recipe": wiring.recipe,
        "interfaces_per_panel": ports.interfaces_per_panel,
        "idle": list(free_ports(wiring.servers, wiring.degree, wiring.links, _taken(ports, wiring.links))),
        "rings": [{"walk": ring.walk.tolist(), "share": ring.share} for ring in wiring.rings],
    }


def read_wiring_file(
    path: str | Path, links: str | None = None, degree: int | None = None, only_listed: bool = False
) -> tuple[DirectWiring, PortedLinks | None]:
    """Return the wiring of a file, and the ports of its links where the file says them.

    What :func:`write_wiring_file` writes is read with ports and rings, and says links and degree itself. Others write
    a graph: node-link JSON (``edges`` or ``links`` with ``source`` and ``target``), GraphML, DOT, or two servers a
    line, such as ``0 1``; what follows a # is a remark. A link that stands twice has two ports. Servers
    that have names keep them in ``recipe["names"]``, with the bandwidth and latency that all links have.

    Parameters
    ----------
    links : str, optional
        ``duplex``: each link is a cable, both ways. ``directed``: a fiber from the first to the second. Where not
        given, as the file says, else duplex; if every link stands there and back, these two are one cable.
    degree : int, optional
        Ports of a server; of fewer links, ports are idle.
    only_listed : bool
        Whether these two are meant for files that do not say them, and not compared with what others say.

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
                return listed_wiring(graph, links, degree, only_listed)
            document = exported_document(graph)
        made, ports = written_wiring(checked(document, place), text, place)
    except InvalidInput as error:
        raise InvalidInput(with_line(str(error), text, place)) from None
    given: tuple[tuple[str, Any, Any], ...] = (("links", links, made.links), ("degree", degree, made.degree))
    for word, asked, has in given:
        if asked not in (None, has) and not only_listed:
            raise InvalidInput(f"{word}: {path} says {has}, got {asked}; leave it out")
    return made, ports


def _format_of(document: Mapping[str, Any]) -> Any:
    """Return the format that a file says it has; None of files that other programs wrote, whose ``graph`` is theirs.

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
