"""The shape of a wiring file: a pydantic model for each part, and what it calls a port.

A graph that ``topoopt export`` wrote, in any syntax: as the wiring file that it is, with ports and rings.

Its graph has all that a wiring file says as a whole, lists and mappings as JSON where the syntax has only text; every
node its number, and every link the ports at its ends. Beside them stand names, cables and panels, for others to read.
"""

import itertools
import json
from collections.abc import Container, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.schema.files import Count, Name, Number, Strict
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, bandwidth_of_links, latency_of_links

FORMAT = "topoopt-wiring/1"
Side = Literal["both", "out", "in"]
Port = tuple[Side, int, int]
"""Side of a port (``both`` of a cable), server, port."""


class RingPart(Strict):
    """A ring of all servers, and the share of an interface's rate that it has."""

    walk: list[Count]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class GraphPart(Strict):
    """What is said of the wiring as a whole."""

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
    """Return what a wiring file would say.

    Raises
    ------
    InvalidInput
        If a node has no number, a link no ports, or an attribute of the graph is not what it should be.
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
