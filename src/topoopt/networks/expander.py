"""The expander: servers cabled directly, as a random regular graph."""

from __future__ import annotations

from topoopt import pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network


def wire(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> topologies.Topology:
    """Return a random regular graph."""
    return topologies.expander(servers, degree, bandwidth_bps, latency_s, seed)


def mean_hops(servers: int, ports: int, links: str) -> float:
    """Return the least mean that any wiring has, which a random one comes near."""
    return topologies.moore_average_hops(servers, ports, links)


NETWORK = Network(
    name="expander",
    label="Expander",
    description="random d-regular graph, d·B a server",
    price=lambda: pricing.FabricPrice(count=pricing.cabled, realize=pricing.realize_cables),
    wire=wire,
    cabled=True,
    relays=True,
    mean_hops=mean_hops,
    compared=True,
    color=5,
    order=70,
)
