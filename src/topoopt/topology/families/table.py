"""The table of families that need nothing but numbers: name, builder."""

from collections.abc import Mapping

from topoopt.topology.families.circulant import circulant
from topoopt.topology.families.expander import expander
from topoopt.topology.families.family import Family
from topoopt.topology.families.fat_tree import fat_tree
from topoopt.topology.families.full_mesh import full_mesh
from topoopt.topology.families.ideal_switch import ideal_switch
from topoopt.topology.families.rail import rail
from topoopt.topology.families.torus import torus
from topoopt.topology.topology import DEFAULT_LATENCY_S, Topology


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


def _ideal_switch(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return ideal_switch(servers, degree * bandwidth_bps, latency_s)


def _fat_tree(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return fat_tree(servers, degree * bandwidth_bps, latency_s)


def _oversub_fat_tree(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return fat_tree(servers, degree * bandwidth_bps, latency_s, oversubscription=2.0)


def _rail(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return rail(servers, degree, bandwidth_bps, latency_s)


def _torus(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return torus(servers, degree * bandwidth_bps, latency_s, dimensions=3, most_neighbors=degree)


def _full_mesh(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    return full_mesh(servers, degree * bandwidth_bps, latency_s)


FAMILIES: Mapping[str, Family] = {
    "circulant": geometric_circulant,
    "ideal-switch": _ideal_switch,
    "fat-tree": _fat_tree,
    "oversub-fat-tree": _oversub_fat_tree,
    "rail": _rail,
    "expander": expander,
    "torus": _torus,
    "full-mesh": _full_mesh,
}
"""Families of wirings by name."""
