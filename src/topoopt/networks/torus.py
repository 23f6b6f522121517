"""The torus: servers cabled to their neighbors in the most square grid of at most three dimensions."""

from __future__ import annotations

from typing import Any

from topoopt import pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network

DIMENSIONS = 3


def wire(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    seed: int = 0,
    **settings: Any,
) -> topologies.Topology:
    """Return the torus with no more neighbors than ports."""
    return topologies.torus(servers, degree * bandwidth_bps, latency_s, DIMENSIONS, degree, **settings)


NETWORK = Network(
    name="torus",
    label="Torus",
    description="most square torus, d·B a server over its neighbors",
    price=lambda: pricing.FabricPrice(count=pricing.cabled, realize=pricing.realize_cables),
    wire=wire,
    settings=frozenset({"twisted"}),
    cabled=True,
    relays=True,
    compared=True,
    color=3,
    order=80,
)
