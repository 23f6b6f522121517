"""A wiring from the nodes and links of a graph file that others wrote: GraphML, DOT, node-link JSON, or a list."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import MOST
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.wirings.connected import refuse_parts
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink
from topoopt.topologies.wirings.link_attributes import bandwidth_of_links, latency_of_links, ports_of_links
from topoopt.topologies.wirings.numbering import Numbering, numbered
from topoopt.topologies.wirings.ports import PortedLinks

GIVEN = "given"
"""The family of a wiring of which only the links are known."""

_Row = tuple[ForeignLink, int, int]  # a link, its two ends


def listed_wiring(
    graph: ForeignGraph, links: str | None, degree: int | None, only_listed: bool = False
) -> tuple[DirectWiring, PortedLinks | None]:
    """Return the wiring of such a file, and the ports of its links if it says them all; see ``read_wiring_file``."""
    if not graph.links:
        raise InvalidInput("names no link; write two servers a line, such as 0 1")
    numbers = numbered(graph)
    rows = [(link, numbers.number[link.ends[0]], numbers.number[link.ends[1]]) for link in graph.links]
    for link, a, b in rows:
        if a == b:
            raise InvalidInput(f"{link.place}: {numbers.shown(a)} is linked to itself; name two servers")
    said = None if graph.directed is None else ("directed" if graph.directed else "duplex")
    kind = (said if only_listed else links) or links or said or "duplex"
    recipe = _recipe(graph, numbers)
    if (links is None or (only_listed and links == "duplex")) and (cables := _cables_said_both_ways(rows)):
        rows, kind = cables, "duplex"
        recipe["said"] = "every cable both ways"
    directed = kind == "directed"
    servers = len(numbers.number)
    port_count = _checked_ports(rows, numbers, servers, directed, degree)
    src, dst = np.array([(a, b) for _, a, b in rows], np.int64).T
    arcs = (src, dst) if directed else (np.concatenate([src, dst]), np.concatenate([dst, src]))
    made = wiring_of_arcs(GIVEN, kind, servers, port_count, arcs, recipe)
    first = {server: link.place for link, a, b in reversed(rows) for server in (a, b)}
    refuse_parts(made, lambda server: f"{first[server]}: {numbers.shown(server)}", numbers.shown(0))
    return made, _ports([link for link, _, _ in rows], (src, dst), port_count, directed)


def _recipe(graph: ForeignGraph, numbers: Numbering) -> dict[str, Any]:
    """Return what is known of the wiring beside its links."""
    known = {
        "read_from": graph.syntax,
        "bandwidth_bps": bandwidth_of_links(graph.links),
        "latency_s": latency_of_links(graph.links),
        "names": list(numbers.names) or None,
    }
    return {key: value for key, value in known.items() if value is not None}


def _cables_said_both_ways(rows: Sequence[_Row]) -> list[_Row]:
    """Return each cable once where every link stands in the file there and back; nothing where one has none back."""
    there = Counter((a, b) for _, a, b in rows)
    if any(there[b, a] != count for (a, b), count in there.items()):
        return []
    return [row for row in rows if row[1] < row[2]]


def _ports(
    links: Sequence[ForeignLink], ends: tuple[Ints, Ints], degree: int, directed: bool
) -> PortedLinks | None:
    """Return the ports that the links say; None where not all do, or one is taken twice."""
    found = ports_of_links(links, degree)
    if found is None:
        return None
    (src, dst), (out, into) = ends, found
    taken = [src * degree + out, dst * degree + into]
    sides: Sequence[Ints] = taken if directed else [np.concatenate(taken)]
    if any(len(np.unique(side)) < len(side) for side in sides):
        return None
    width = next(width for width in range(1, degree + 1) if (out // width == into // width).all())
    return PortedLinks(src, out, dst, into, width)


def _checked_ports(
    rows: Sequence[_Row], numbers: Numbering, servers: int, directed: bool, degree: int | None
) -> int:
    """Return the ports of a server; refuse the link for which one has none left, and servers that have other ports."""
    out, into = [0] * servers, [0] * servers
    for link, a, b in rows:
        for taken, server, way in ((out, a, "out"), (into, b, "in")):
            taken[server] += 1
            if not directed:
                (into if taken is out else out)[server] += 1
            if degree is not None and taken[server] > degree:
                raise InvalidInput(
                    f"{link.place}: {numbers.shown(server)} has {degree} ports {way}, and this would be port "
                    f"{taken[server]}; give it fewer links, or a larger degree"
                )
    for server in range(servers):
        if not out[server] or not into[server]:
            way = "out" if not out[server] else "in"
            raise InvalidInput(
                f"{numbers.shown(server)} has no link {way}; number servers from 0 without a gap"
                if not numbers.names
                else f"{numbers.shown(server)} has no link {way}; give it one, or leave it out"
            )
    most = max(*out, *into)
    if most > MOST["degree"]:
        server = out.index(most) if most in out else into.index(most)
        raise InvalidInput(f"{numbers.shown(server)} has {most} ports, expected at most {MOST['degree']}")
    usual = int(np.bincount(out + into).argmax())
    for server in range(servers if degree is None else 0):
        for way, count in (("out", out[server]), ("in", into[server])):
            if count != usual:
                raise InvalidInput(
                    f"wiring: not regular: {numbers.shown(server)} has {count} ports {way}, most have {usual}; give "
                    f"every server as many, or degree={most} to leave ports idle"
                )
    return degree or most
