"""A plan's wiring as a multigraph: servers with names and racks, cables with ports, panels, bandwidth and ids."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.plans import plan_wiring
from topoopt.plugins.exports.deployment import Deployment
from topoopt.topologies.wirings import EXPORTED, PortedLinks, wiring_attributes

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WiredGraph:
    """What a graph file says.

    Attributes
    ----------
    says : mapping
        Attributes of the graph: all that a wiring file says as a whole.
    nodes : tuple of (name, attributes)
        In the order of ranks.
    links : tuple of (name of the source, of the target, key, attributes)
        Of parallel cables the key counts.
    """

    directed: bool
    says: Attributes
    nodes: tuple[tuple[str, Attributes], ...]
    links: tuple[tuple[str, str, int, Attributes], ...]


def wired_graph(deployment: Deployment) -> WiredGraph:
    """Return the wiring of a deployment in the inventory's names."""
    wiring, plan, patches = deployment.wiring, deployment.plan, deployment.wiring.patches
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in patches]
    table = np.array(rows, np.int64).reshape(-1, 4)
    ports = PortedLinks(table[:, 0], table[:, 1], table[:, 2], table[:, 3], wiring.interfaces_per_panel)
    servers = deployment.inventory.servers[: plan.fabric.topology.servers]
    says = {**wiring_attributes(plan_wiring(plan), ports), "format": EXPORTED, "name": plan.job.name}
    nodes = tuple(
        (server.name, {"number": number, "rack": server.rack, "position": server.position})
        for number, server in enumerate(servers)
    )
    return WiredGraph(wiring.links == "directed", says, nodes, tuple(_links(deployment)))


def _links(deployment: Deployment) -> list[tuple[str, str, int, Attributes]]:
    cluster, found = deployment.plan.job.cluster, list[tuple[str, str, int, Attributes]]()
    count: dict[tuple[str, str], int] = {}
    for patch, circuit in zip(deployment.wiring.patches, deployment.circuits, strict=True):
        a, b = circuit.cable_a, circuit.cable_b
        key = count.get((a.server, b.server), 0)
        count[a.server, b.server] = key + 1
        says = {
            "source_port": patch.src_interface,
            "target_port": patch.dst_interface,
            "source_interface": a.interface,
            "target_interface": b.interface,
            "bandwidth_bps": float(cluster.link_bandwidth_bps),
            "latency_s": float(cluster.link_latency_s),
            "circuit": circuit.id,
            "panel": circuit.panel,
            "panel_port_a": circuit.port_a,
            "panel_port_b": circuit.port_b,
            "cable_a": a.id,
            "cable_b": b.id,
        }
        found.append((a.server, b.server, key, says))
    return found
