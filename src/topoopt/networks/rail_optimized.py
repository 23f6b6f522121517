"""Rails with spines that join the leaves of all rails, as rail-optimized networks are sold; in two planes, as HPN."""

from __future__ import annotations

from functools import partial
from typing import Any

from topoopt import topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network
from topoopt.finder import graph_price


def wire(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    seed: int = 0,
    switches: bool = False,
    **settings: Any,
) -> topologies.Topology:
    """Return a leaf for each port of a server, and spines above all of them."""
    return topologies.rail_optimized(
        servers, degree, bandwidth_bps, latency_s, topologies.RailShape(**settings), switches
    )


NETWORK = Network(
    name="rail-optimized",
    label="Rail-optimized",
    description="a leaf for each of d interfaces, and spines that join all rails",
    price=partial(graph_price, partial(wire, switches=True)),
    wire=wire,
    settings=frozenset({"switches", "planes", "leaf_servers", "spines", "oversubscription"}),
    switched=True,
    closed_form=False,
    order=66,
)
