"""The table of networks for any numbers of servers and interfaces: name, builder."""

from collections.abc import Callable, Mapping
from typing import Any

from topoopt.topologies.families.circulant import circulant
from topoopt.topologies.families.expander import expander
from topoopt.topologies.families.family import Family
from topoopt.topologies.families.fat_tree import fat_tree
from topoopt.topologies.families.full_mesh import full_mesh
from topoopt.topologies.families.ideal_switch import ideal_switch
from topoopt.topologies.families.rail import rail
from topoopt.topologies.families.torus import torus
from topoopt.topologies.topology import DEFAULT_LATENCY_S, Topology


def geometric_circulant(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    seed: int = 0,
) -> Topology:
    """Return the duplex circulant of strides 1, n^(1/k), n^(2/k), …, k = degree/2.

    The plainest low-diameter circulant. Its strides need not make rings; TopologyFinder chooses better.
    """
    count = max(degree // 2, 1) if servers > 2 else degree
    strides = [max(1, min(round(servers ** (i / count)), servers // 2)) for i in range(count)]
    return circulant(servers, strides, bandwidth_bps, latency_s)


def _without_chance(build: Callable[..., Topology]) -> Family:
    """Return the family of a wiring that takes no seed."""

    def family(
        servers: int,
        degree: int,
        bandwidth_bps: float,
        latency_s: float = DEFAULT_LATENCY_S,
        seed: int = 0,
        **settings: Any,
    ) -> Topology:
        return build(servers, degree, bandwidth_bps, latency_s, **settings)

    return family


def _of_one_link(build: Callable[..., Topology], **usual: Any) -> Family:
    """Return the family of a wiring whose servers have all their bandwidth together, d·B, to divide or on one link."""
    return _without_chance(
        lambda servers, degree, bandwidth_bps, latency_s, **settings: build(
            servers, degree * bandwidth_bps, latency_s, **usual | settings
        )
    )


def _torus(servers: int, degree: int, bandwidth_bps: float, latency_s: float, **settings: Any) -> Topology:
    return torus(servers, degree * bandwidth_bps, latency_s, 3, degree, **settings)


FAMILIES: Mapping[str, Family] = {
    "circulant": geometric_circulant,
    "ideal-switch": _of_one_link(ideal_switch),
    "fat-tree": _of_one_link(fat_tree),
    "oversub-fat-tree": _of_one_link(fat_tree, oversubscription=2.0),
    "rail": _without_chance(rail),
    "expander": expander,
    "torus": _without_chance(_torus),
    "full-mesh": _of_one_link(full_mesh),
}
"""Networks for any servers and interfaces, with or without switches: jobs are compared and simulated on them.

A server's d·B is divided over the links that it has there, be they d or not. ``WIRING_FAMILIES`` has the direct wirings
of exactly d equal interfaces, which exist for some numbers only: what plans and ``topology`` choose among. Where a name
is in both tables and the wiring exists, ``expander`` and ``torus`` are the same graphs; the circulant here has plain
strides, the one there the best ones. Some take settings of their own, too, by the names of their parameters.
"""
