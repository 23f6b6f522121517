"""Fabrics that a testbed can emulate: a plan's own links, or one switch at another bandwidth; each as links and
routes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import check_known
from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.finder.rewiring import Wiring, wire
from topoopt.plugins.testbeds.network import Layout, direct_layout, single_paths, switch_layout
from topoopt.pricing import published_equivalent_bandwidth
from topoopt.routing import Fabric

PAPER_CLUSTER = ClusterSpec(12, 4, 25e9, accelerators_per_server=1)
"""The testbed of the paper: 12 servers, four interfaces of 25 Gb/s each (NSDI 2023, section 6)."""
PAPER_STRIDES = (1, 5)


@dataclass(frozen=True, eq=False)
class Emulated:
    """A fabric as emulated by a testbed.

    Attributes
    ----------
    name : str
        Name in the table of :data:`EMULATED`.
    fabric : Fabric
        Links, one path per pair, and rings, for the simulators; not scaled.
    layout : Layout
        Construction of the testbed.
    wiring : Wiring, optional
        Wiring of direct links.
    """

    name: str
    fabric: Fabric
    layout: Layout
    wiring: Wiring | None = None

    @property
    def server_bandwidth_bps(self) -> float:
        """Bandwidth per server, not scaled."""
        return sum(port.bandwidth_bps for port in self.layout.senders if port.node == 0)


def paper_fabric() -> Fabric:
    """Return the links of the paper's testbed, with rings along both strides."""
    members = tuple(range(PAPER_CLUSTER.servers))
    request = _request(PAPER_CLUSTER, (members,), shape=FabricShape(strides=PAPER_STRIDES))
    return build_fabric("topoopt", request)


def emulated(name: str, cluster: ClusterSpec, fabric: Fabric) -> Emulated:
    """Return one of :data:`EMULATED` for a cluster.

    Parameters
    ----------
    fabric : Fabric
        The plan's: its links are those of ``topoopt``, and its groups get rings on every other.

    Raises
    ------
    InvalidInput
        For an unknown name, or a plan of switches.
    """
    check_known("fabric", name, EMULATED)
    return EMULATED[name](cluster, fabric)


def plan_on_links(cluster: ClusterSpec, fabric: Fabric, wiring: Wiring | None = None) -> Emulated:
    """Return a fabric of direct links as it is wired; each pair uses one of its paths."""
    wiring = wiring or wire(fabric.topology, cluster.degree, cluster.links)
    routed = replace(fabric, routes=single_paths(fabric.topology, fabric.routes))
    return Emulated("topoopt", routed, direct_layout(routed, wiring, cluster.link_bandwidth_bps), wiring)


def _one_port(cluster: ClusterSpec) -> float:
    return cluster.link_bandwidth_bps


def _all_ports(cluster: ClusterSpec) -> float:
    return cluster.degree * cluster.link_bandwidth_bps


def _equal_cost(cluster: ClusterSpec) -> float:
    return published_equivalent_bandwidth(cluster.degree, cluster.link_bandwidth_bps)


def _switch(
    name: str, server_bps: Callable[[ClusterSpec], float]
) -> Callable[[ClusterSpec, Fabric], Emulated]:
    """Return the builder of one switch that joins every server at this bandwidth."""

    def build(cluster: ClusterSpec, fabric: Fabric) -> Emulated:
        each_bps = server_bps(cluster)
        made = build_fabric(
            "ideal-switch", _request(cluster, tuple(fabric.rings), server_bandwidth_bps=each_bps)
        )
        return Emulated(name, replace(made, name=name), switch_layout(cluster.servers, each_bps))

    return build


def _request(cluster: ClusterSpec, groups: tuple[tuple[int, ...], ...], **more: Any) -> FabricRequest:
    latency_s = cluster.link_latency_s
    return FabricRequest(
        cluster.servers, cluster.degree, cluster.link_bandwidth_bps, groups, latency_s=latency_s, **more
    )


EMULATED: Mapping[str, Callable[[ClusterSpec, Fabric], Emulated]] = MappingProxyType(
    {
        "topoopt": plan_on_links,
        "ideal-switch": _switch("ideal-switch", _all_ports),
        "fat-tree": _switch("fat-tree", _equal_cost),
        "switch": _switch("switch", _one_port),
    }
)
"""Emulated fabrics: the plan's links; one switch with d·B per server, d·B/3.2 (the paper's equal cost), or B."""
