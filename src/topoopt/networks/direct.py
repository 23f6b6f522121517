"""TopoOpt's wiring without panels: cables from server to server, wired once for one job."""

from __future__ import annotations

from topoopt import pricing, topologies
from topoopt.catalog import OWN, Network


def mean_hops(servers: int, ports: int, links: str) -> float:
    """Return the least mean that any wiring has, which the found one comes near."""
    return topologies.moore_average_hops(servers, ports, links)


NETWORK = Network(
    name="direct",
    label="Direct cables",
    description="the wiring of this plan in cables from server to server, no panel",
    price=lambda: pricing.FabricPrice(
        count=pricing.cabled,
        realize=pricing.realize_cables,
        note="wired once: for another job people move the cables",
    ),
    timed_as=OWN,
    relays=True,
    cabled=True,
    mean_hops=mean_hops,
    compared=True,
    order=5,
)
