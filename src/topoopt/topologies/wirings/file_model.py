"""The model of a wiring file: a pydantic model for each part, and the port of every link.

A graph that ``topoopt export`` wrote, in any syntax, is read as such a file: its graph has all that a wiring file
says as a whole, lists and mappings as JSON where the syntax has only text; every node its number, and every link the
ports at its ends. Beside them stand names, cables and panels, for others to read.
"""

import itertools
import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.schema.files import Count, Name, Number, Strict
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, bandwidth_of_links, latency_of_links


@dataclass(frozen=True, eq=False)
class PortedLinks:
    """Cables, each once, or one-way fibers, with the ports at their ends.

    Attributes
    ----------
    src, src_port, dst, dst_port : int64 arrays, shape (links,)
    interfaces_per_panel : int
        Ports k·w .. k·w + w - 1 of every server go to panel k. 1 where the links are perfect matchings (cables) or
        permutations (fibers, by König's theorem), 2 where cables need two (Petersen's); all of them where no
        division was looked for.
    """

    src: Ints
    src_port: Ints
    dst: Ints
    dst_port: Ints
    interfaces_per_panel: int


_Columns = tuple[Ints, Ints, Ints, Ints]
FORMAT = "topoopt-wiring/1"
Side = Literal["both", "out", "in"]
Port = tuple[Side, int, int]
"""Side of a port (``both`` of a cable), server, port."""


class RingPart(Strict):
    """A ring of all servers, and the share of an interface's rate that it has."""

    walk: list[Count]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class GraphPart(Strict):
    """Properties of the wiring as a whole."""

    format: str
    servers: Annotated[int, Field(ge=2, le=MOST["servers"])]
    degree: Annotated[int, Field(ge=1, le=MOST["degree"])]
    links: Literal["duplex", "directed"]
    family: Name
    group: Number = 1
    recipe: dict[str, Any] = Field(default_factory=dict)
    interfaces_per_panel: Number
    idle: list[Port] = Field(default_factory=list)
    rings: list[RingPart] = Field(default_factory=list)


class NodePart(Strict):
    """A server."""

    id: Count


class LinkPart(Strict):
    """A cable, or a fiber from source to target."""

    source: Count
    source_port: Count
    target: Count
    target_port: Count


class WiringFile(Strict):
    """A wiring as node-link data."""

    directed: bool
    multigraph: bool
    graph: GraphPart
    nodes: list[NodePart]
    links: list[LinkPart]


def free_ports(servers: int, degree: int, links: str, taken: Container[Port]) -> Iterator[Port]:
    """Yield the ports that nothing is plugged into, server by server."""
    sides: tuple[Side, ...] = ("both",) if links == "duplex" else ("out", "in")
    for server, port, side in itertools.product(range(servers), range(degree), sides):
        if (side, server, port) not in taken:
            yield side, server, port


EXPORTED = "topoopt-graph/1"
"""The format that an exported graph names."""
STRUCTURED = ("recipe", "idle", "rings")
"""Attributes of the graph that are lists or mappings."""
NUMBERS = ("servers", "degree", "group", "interfaces_per_panel")


def exported_document(graph: ForeignGraph) -> dict[str, Any]:
    """Return the document of a wiring file.

    Raises
    ------
    InvalidInput
        If a node has no number, a link no ports, or an attribute of the graph is invalid.
    """
    number = {node.name: _number(node.says.get("number"), f"{node.place}: number") for node in graph.nodes}
    says = {name: value for name, value in graph.says.items() if name in GraphPart.model_fields}
    says |= {name: _parsed(says[name], name) for name in STRUCTURED if name in says}
    says |= {name: _number(says[name], f"graph: {name}") for name in NUMBERS if name in says}
    recipe = says.get("recipe") or {}
    if not isinstance(recipe, dict):
        raise InvalidInput(f"graph: recipe: expected a mapping, got {shown(recipe)}; export the plan again")
    known = {
        "bandwidth_bps": bandwidth_of_links(graph.links),
        "latency_s": latency_of_links(graph.links),
        "names": [node.name for node in sorted(graph.nodes, key=lambda node: number[node.name])],
    }
    says |= {
        "format": FORMAT,
        "recipe": {**recipe, **{key: one for key, one in known.items() if one is not None}},
    }
    rows = []
    for link in graph.links:
        for end in link.ends:
            if end not in number:
                raise InvalidInput(
                    f"{link.place}: {end} is not among the nodes; declare it, or mend the link"
                )
        ports = [
            _number(link.says.get(f"{side}_port"), f"{link.place}: {side}_port")
            for side in ("source", "target")
        ]
        a, b = (number[end] for end in link.ends)
        rows.append({"source": a, "source_port": ports[0], "target": b, "target_port": ports[1]})
    return {
        "directed": bool(graph.directed),
        "multigraph": True,
        "graph": says,
        "nodes": [{"id": one} for one in sorted(number.values())],
        "links": rows,
    }


def _number(value: Any, place: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InvalidInput(f"{place}: expected a number, got {shown(value)}; export the plan again")
    return int(text)


def _parsed(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidInput(
            f"graph: {name}: expected JSON, got {shown(value)}; export the plan again"
        ) from None


def ports_by_rings(wiring: DirectWiring) -> PortedLinks | None:
    """Return the ports where rings use every link: a ring of an even number of servers is two matchings."""
    if wiring.idle_interfaces:
        return None
    if wiring.links == "directed":
        columns = [_fibers(ring.walk, port) for port, ring in enumerate(wiring.rings)]
        return _joined(columns, 1) if len(columns) == wiring.degree else None
    halves = [ring for ring in wiring.rings if ring.share < 1.0]
    whole = [ring for ring in wiring.rings if ring.share == 1.0]
    used = 2 * len(whole) + (3 if halves else 0)
    if used != wiring.degree:
        return None
    even = wiring.servers % 2 == 0
    columns = []
    if halves:  # two of the three matchings are the first ring, the third every other cable of the second
        columns.append(_cables(halves[0].walk, 0, even))
        walk = halves[1].walk
        third = np.full(wiring.servers // 2, 2)
        columns.append((walk[::2], third, walk[1::2], third))
    columns += [_cables(ring.walk, 2 * index + len(halves), even) for index, ring in enumerate(whole)]
    return _joined(columns, 1 if even else 2)


def ports_in_order(wiring: DirectWiring) -> PortedLinks:
    """Return the links with the ports of every server taken in the order of its neighbors, as they come."""
    src, dst = wiring.arcs
    if wiring.links == "directed":
        return PortedLinks(src, _nth(src), dst, _nth(dst), wiring.degree)
    once = src < dst
    src, dst = src[once], dst[once]
    ends = _nth(np.stack([src, dst], axis=1).ravel()).reshape(-1, 2)
    return PortedLinks(src, ends[:, 0], dst, ends[:, 1], wiring.degree)


def _cables(walk: Ints, port: int, even: bool) -> _Columns:
    """Return the cables of a ring: by turns on two ports, or from the one to the other port."""
    second = np.arange(len(walk)) % 2 if even else np.zeros(len(walk), np.int64)
    here = port + second
    return walk, here, np.roll(walk, -1), here if even else here + 1


def _fibers(walk: Ints, port: int) -> _Columns:
    ports = np.full(len(walk), port)
    return walk, ports, np.roll(walk, -1), ports


def _joined(columns: list[_Columns], interfaces_per_panel: int) -> PortedLinks:
    src, src_port, dst, dst_port = (np.concatenate(part) for part in zip(*columns, strict=True))
    return PortedLinks(src, src_port, dst, dst_port, interfaces_per_panel)


def _nth(values: Ints) -> Ints:
    """Return the number of earlier occurrences of each value."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    place = np.arange(len(values)) - np.searchsorted(ranked, ranked)
    nth = np.empty(len(values), np.int64)
    nth[order] = place
    return nth
