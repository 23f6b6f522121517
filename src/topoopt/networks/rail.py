"""Rails: a leaf and spine network for each port of a server."""

from __future__ import annotations

from typing import Any

from topoopt import pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network

LEAF_PORTS = 64
"""Ports of a leaf, half of them for servers, where ports are counted and not whole switches: as the topology has it."""


def wire(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    seed: int = 0,
    **settings: Any,
) -> topologies.Topology:
    """Return the rails, one per port."""
    return topologies.rail(servers, degree, bandwidth_bps, latency_s, **settings)


def count(buying: pricing.Buying) -> pricing.Counted:
    """Return the parts of whole switches, or by the port: a rail of one leaf needs no spine."""
    if buying.rule.switches == "whole":
        return pricing.switched(buying, rails=True)
    # Beyond one leaf every server link has an uplink of its own.
    return pricing.ports_in_use(buying, 0 if buying.interfaces.servers <= LEAF_PORTS // 2 else 1)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the trees that are bought, or leaves and spines of equal switches."""
    leaf = LEAF_PORTS // 2
    edge = -(-site.interfaces.servers // leaf)
    radix = max(LEAF_PORTS, edge)
    spines = 0 if edge == 1 else -(-edge * leaf // radix)
    return pricing.realize_switches(
        site, pricing.FatTreeSize(site.interfaces.servers, radix, edge, 0, spines)
    )


NETWORK = Network(
    name="rail",
    label="Rail fabric",
    description="leaf and spine for each of d interfaces, d·B a server",
    price=lambda: pricing.FabricPrice(
        count=count,
        realize=realize,
        note="rails share a switch where it has ports for all; beyond, a tree for each",
        note_by_port=f"leaves of {LEAF_PORTS} ports, half of them up; no spine where a rail has one leaf",
    ),
    wire=wire,
    settings=frozenset({"switches", "leaf_ports", "oversubscription"}),
    switched=True,
    compared=True,
    color=7,
    order=60,
)
