"""TopoOpt: servers cabled directly through patch panels, wired for the job."""

from __future__ import annotations

from typing import Any

from topoopt import finder, pricing, topologies
from topoopt.catalog import OWN, Network

TECHNOLOGIES = ("patch-panel",)


def build(request: Any) -> Any:
    """Return the circulant or the wiring that the request names."""
    return finder.stride_fabric(request)


def mean_hops(servers: int, ports: int, links: str) -> float:
    """Return the least mean that any wiring has, which the found one comes near."""
    return topologies.moore_average_hops(servers, ports, links)


NETWORK = Network(
    name=OWN,
    label="TopoOpt",
    description="patch panels",
    price=lambda: pricing.FabricPrice(
        count=pricing.behind_panels, realize=pricing.of_technologies(TECHNOLOGIES), optics=TECHNOLOGIES
    ),
    build=build,
    settings=frozenset({"strides", "wiring"}),
    relays=True,
    panels=True,
    mean_hops=mean_hops,
    compared=True,
    color=0,
    order=0,
)
