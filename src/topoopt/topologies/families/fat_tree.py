"""Switched networks: the three-tier fat-tree, the rail-optimized leaf-spine, and the ideal switch.

In large rail-optimized installations the spines join the leaves of all rails. But a server has an interface on every
rail, and interface i of one server addresses interface i of another, so no byte changes rails. Spines for
each rail carry the same load, and shortest paths stay on their rail by themselves.

A fat-tree is built switch by switch or as a tree of trunks, with full bisection or oversubscribed. In a tree of trunks
parallel switches are merged: the aggregation switches of a pod are one node, and so are the core switches. Under
equal-split ECMP the members of a trunk carry equal shares of every flow, so rates on trunks are those of the full
tree; only hash collisions of single-path ECMP are lost. Plans use trunks, as these have fewer links and one path a
pair; packets need the switches.
"""

from math import ceil

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
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
        If ``oversubscription`` is below 1, or leaves with these ports cannot join the servers.

    Examples
    --------
    >>> rail(32, 8, 400e9).nodes, rail(128, 8, 400e9).nodes, rail(128, 8, 400e9, switches=True).nodes
    (40, 168, 416)
    """
    check_numbers("rail", servers, rails, interface_bandwidth_bps, latency_s)
    check_oversubscription("rail", oversubscription)
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


def fat_tree(
    servers: int,
    server_bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    oversubscription: float = 1.0,
    arity: int | None = None,
    switches: bool = False,
) -> Topology:
    """Return server – ToR – aggregation – core; paths have 2 hops in a rack, 4 in a pod, 6 beyond.

    Server h is in rack h // (k/2) and pod h // (k/2)²: racks and pods fill up in server order. Those without
    servers are left out. The others keep all their uplinks, and the core all its switches, so that ports
    are spare below only. Links have the server's bandwidth; between pods a pair has (k/2)² paths.

    Nodes are numbered servers, ToRs, aggregation, core. Aggregation switch j of every pod joins the core
    switches j·k/2 : (j+1)·k/2. Without ``switches`` there is one aggregation node a pod and one core node, and
    ``Topology.ports`` keeps the number of physical links.

    Parameters
    ----------
    server_bandwidth_bps : float
        The one link of a server.
    oversubscription : float
        Bandwidth into a full ToR from its servers over bandwidth out of it; 2 in the paper's "Oversub.
        Fat-tree". A ToR has (k/2) / oversubscription uplinks, rounded up, to as many aggregation switches in
        its pod; where it is rounded, they are slower than a server's link. The tiers above carry the
        uplinks of all ToRs.
    arity : int, optional
        The k, even; by default the smallest that holds the servers.
    switches : bool
        Every switch is a node of its own.

    Raises
    ------
    InvalidInput
        If ``oversubscription`` is below 1, or ``arity`` is odd or too small.

    References
    ----------
    .. [1] M. Al-Fares et al., "A scalable, commodity data center network architecture", SIGCOMM 2008.

    Examples
    --------
    >>> fat_tree(16, 100e9, switches=True).nodes, fat_tree(16, 100e9).nodes
    (36, 29)
    """
    check_numbers("fat-tree", servers, 1, server_bandwidth_bps, latency_s)
    check_oversubscription("fat-tree", oversubscription)
    smallest = fat_tree_arity(servers)
    if arity is None:
        half = smallest // 2
    else:
        if arity < 2 or arity % 2:
            raise InvalidInput(f"fat-tree: arity must be even and at least 2, got {arity}")
        if arity < smallest:
            raise InvalidInput(
                f"fat-tree: arity {arity} holds {arity**3 // 4} servers, got {servers}; use {smallest} or more"
            )
        half = arity // 2
    uplinks, uplink_bps = thinned_uplinks(half, server_bandwidth_bps, oversubscription)
    racks, pods = -(-servers // half), -(-servers // half**2)
    aggregations = uplinks if switches else 1  # of a pod
    tor, aggregation = servers, servers + racks
    core = aggregation + pods * aggregations
    cores = uplinks * half if switches else 1

    rack, j = np.divmod(np.arange(racks * uplinks), uplinks)
    rack_up = aggregation + rack // half * aggregations + (j if switches else 0)
    pod, port = np.divmod(np.arange(pods * uplinks * half), uplinks * half)
    pod_up = aggregation + pod * aggregations + (port // half if switches else 0)
    lower = np.concatenate([np.arange(servers), tor + rack, pod_up])
    upper = np.concatenate(
        [tor + np.arange(servers) // half, rack_up, core + (port if switches else np.zeros_like(port))]
    )
    bandwidth = np.full(len(lower), uplink_bps)
    bandwidth[:servers] = server_bandwidth_bps
    family = "fat-tree" if oversubscription == 1 else "oversub-fat-tree"
    return topology_of_cables(family, servers, (lower, upper), bandwidth, latency_s, core + cores)


def fat_tree_arity(servers: int) -> int:
    """Return the smallest even k whose k-ary fat-tree holds the servers: k³/4 ≥ n.

    Examples
    --------
    >>> fat_tree_arity(16), fat_tree_arity(128), fat_tree_arity(129)
    (4, 8, 10)
    """
    arity = 2
    while arity**3 < 4 * servers:
        arity += 2
    return arity


def check_oversubscription(place: str, oversubscription: float) -> None:
    """Refuse a ratio below 1.

    Raises
    ------
    InvalidInput
        Naming it.
    """
    if not 1 <= oversubscription < float("inf"):
        raise InvalidInput(f"{place}: oversubscription must be at least 1, got {oversubscription}")


def thinned_uplinks(downlinks: int, bandwidth_bps: float, oversubscription: float) -> tuple[int, float]:
    """Return the uplinks of a switch, and the bandwidth of each."""
    uplinks = max(ceil(downlinks / oversubscription - 1e-9), 1)
    return uplinks, downlinks * bandwidth_bps / oversubscription / uplinks


def ideal_switch(servers: int, server_bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S) -> Topology:
    """Return servers around one switch (node ``servers``); a path has two hops.

    Parameters
    ----------
    server_bandwidth_bps : float
        All interfaces of a server together (d·B in the paper's comparison).
    """
    check_numbers("ideal-switch", servers, 1, server_bandwidth_bps, latency_s)
    cables = np.arange(servers), np.full(servers, servers)
    return topology_of_cables("ideal-switch", servers, cables, server_bandwidth_bps, latency_s, servers + 1)
