"""A baseline of direct links, as the ports of a cluster make it."""

from dataclasses import replace

import numpy as np

from topoopt.catalog import ClusterSpec
from topoopt.routing import EcmpRoutes, Fabric
from topoopt.topologies import Topology, topology_from_arrays, wiring_of_arcs

_WHOLE_NUMBER = 1e-9


def plugged(fabric: Fabric, cluster: ClusterSpec) -> Fabric | None:
    """Return a fabric of direct links as the ports of the cluster make it; None where they cannot."""
    topology = fabric.topology
    cables = topology.bandwidth_bps / cluster.link_bandwidth_bps
    whole = np.rint(cables)
    if (
        topology.nodes > topology.servers
        or fabric.reconfiguration is not None
        or (np.abs(cables - whole) > _WHOLE_NUMBER * cables).any()
        or np.bincount(topology.src, whole, topology.servers).max() > cluster.degree
    ):
        return None
    ports = whole.astype(np.int64)
    arcs = np.repeat(topology.src, ports).astype(np.int64), np.repeat(topology.dst, ports).astype(np.int64)
    wiring = wiring_of_arcs(fabric.name, "duplex", topology.servers, cluster.degree, arcs)
    made = _with_ports(topology, arcs, cluster)
    # equal splits are exact on the links that the routes know; on others paths are listed, and not all of them
    routes = replace(fabric.routes, topology=made) if isinstance(fabric.routes, EcmpRoutes) else fabric.routes
    return replace(fabric, name="topoopt", topology=made, routes=routes, wiring=wiring)


def _with_ports(topology: Topology, arcs: tuple[np.ndarray, np.ndarray], cluster: ClusterSpec) -> Topology:
    """Return the same links, each of as many ports as it takes."""
    return topology_from_arrays(
        topology.family,
        topology.servers,
        *arcs,
        cluster.link_bandwidth_bps,
        float(topology.latency_s[0]),
        offsets=topology.offsets,
    )
