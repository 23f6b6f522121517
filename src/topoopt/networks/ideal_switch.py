"""The ideal switch: one non-blocking network for all ports of a server."""

from __future__ import annotations

from topoopt import pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network


def wire(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> topologies.Topology:
    """Return a star with one link per server."""
    return topologies.ideal_switch(servers, degree * bandwidth_bps, latency_s)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the trees of switches that emulate a single one."""
    return pricing.realize_switches(site, one_switch=True)


NETWORK = Network(
    name="ideal-switch",
    label="Non-blocking switch",
    description="one non-blocking switch, d·B a server",
    price=lambda: pricing.FabricPrice(
        count=pricing.switched,
        realize=realize,
        note="the cheapest network of whole switches that never blocks",
        note_by_port="priced as a full-bisection fat-tree, per interface",
    ),
    wire=wire,
    switched=True,
    trunks=True,
    compared=True,
    color=2,
    order=30,
)
