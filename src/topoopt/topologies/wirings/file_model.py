"""The shape of a wiring file: a pydantic model for each part, and what it calls a port."""

import itertools
from collections.abc import Container, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from topoopt.base.limits import MOST
from topoopt.schema.files import Count, Name, Number, Strict

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
