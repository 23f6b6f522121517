"""The rail-optimized leaf-spine: interface i of every server is on rail i, a leaf-spine network of its own.

In large installations the spines join the leaves of all rails. But a server has an interface on every rail,
and interface i of one server addresses interface i of another, so no byte changes rails on its way. Spines
for each rail carry the same load, and shortest paths stay on their rail by themselves.
"""

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.families.fat_tree import check_oversubscription, thinned_uplinks
from topoopt.topologies.topology import Topology, check_numbers, topology_of_cables

_USUAL_PORTS = 64


def rail(
    servers: int,
    rails: int,
    interface_bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    leaf_ports: int | None = None,
    oversubscription: float = 1.0,
    switches: bool = False,
) -> Topology:
    """Return server – leaf – spine on each rail; paths have 2 hops under one leaf, 4 beyond.

    Leaves fill up in server order. Where a rail has more than one leaf, each leaf has an uplink to each of
    the rail's spines; where it has one, there is no spine. Nodes are numbered servers, leaves of rail 0,
    leaves of rail 1, …, spines likewise.

    Parameters
    ----------
    rails : int
        Interfaces of a server, each of ``interface_bandwidth_bps``.
    leaf_ports : int, optional
        Ports of a leaf and of a spine. Half of a leaf's are for servers; if oversubscribed, the share
        oversubscription / (1 + oversubscription). By default 64, or the least even number that is enough.
    oversubscription : float
        Bandwidth into a full leaf from its servers over bandwidth out of it.
    switches : bool
        Every spine is a node of its own; else those of a rail are merged, and ``Topology.ports`` keeps the
        number of physical links (see :func:`topoopt.topologies.fat_tree`).

    Raises
    ------
    InvalidInput
        If ``oversubscription`` is below 1, or leaves of so many ports cannot join the servers.

    Examples
    --------
    >>> rail(32, 8, 400e9).nodes, rail(128, 8, 400e9).nodes, rail(128, 8, 400e9, switches=True).nodes
    (40, 168, 416)
    """
    check_numbers("rail", servers, rails, interface_bandwidth_bps, latency_s)
    check_oversubscription("rail", oversubscription)
    below = _servers_of_leaf(servers, leaf_ports, oversubscription)
    uplinks, uplink_bps = thinned_uplinks(below, interface_bandwidth_bps, oversubscription)
    leaves = -(-servers // below)  # of a rail
    uplinks = uplinks if leaves > 1 else 0
    spines = uplinks if switches else min(uplinks, 1)
    first_leaf, first_spine = servers, servers + rails * leaves

    on_rail, server = np.divmod(np.arange(rails * servers), servers)
    leaf, j = np.divmod(np.arange(rails * leaves * uplinks), max(uplinks, 1))
    lower = np.concatenate([server, first_leaf + leaf])
    leaf_of_server = first_leaf + on_rail * leaves + server // below
    spine = first_spine + leaf // leaves * spines + (j if switches else 0)
    upper = np.concatenate([leaf_of_server, spine])
    bandwidth = np.full(len(lower), uplink_bps)
    bandwidth[: len(server)] = interface_bandwidth_bps
    nodes = first_spine + rails * spines
    return topology_of_cables("rail", servers, (lower, upper), bandwidth, latency_s, nodes)


def _servers_of_leaf(servers: int, leaf_ports: int | None, oversubscription: float) -> int:
    """Return how many ports of a leaf are for servers."""
    share = oversubscription / (1 + oversubscription)
    ports = _USUAL_PORTS if leaf_ports is None else leaf_ports
    while leaf_ports is None and ports * int(ports * share) < servers:
        ports += 2
    if ports < 2:
        raise InvalidInput(f"rail: leaf_ports must be at least 2, got {ports}")
    below = int(ports * share + 1e-9)
    if servers > ports * below:
        raise InvalidInput(
            f"rail: leaves and spines of {ports} ports join {ports * below} servers, got {servers}; "
            "use switches of more ports"
        )
    return below
