"""The three-tier k-ary fat-tree, switch by switch or drawn as a tree of trunks; full-bisection or oversubscribed.

As a tree of trunks, parallel switches are merged: the aggregation switches of a pod are one node, and so
are the core switches. Under equal-split ECMP the members of a trunk carry equal shares of every flow, so
rates on trunks are those of the full tree; only hash collisions of single-path ECMP are lost. Plans use
trunks, as these have fewer links and one path a pair; packets need the switches.
"""

from math import ceil

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.topology import Topology, check_numbers, topology_of_cables


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
        its pod; where it is rounded, they are slower than a server's link. The tiers above carry what the
        ToRs can send.
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
    half = _half(servers, arity)
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
    """Return how many uplinks a switch of so many downlinks has, and the bandwidth of one."""
    uplinks = max(ceil(downlinks / oversubscription - 1e-9), 1)
    return uplinks, downlinks * bandwidth_bps / oversubscription / uplinks


def _half(servers: int, arity: int | None) -> int:
    smallest = fat_tree_arity(servers)
    if arity is None:
        return smallest // 2
    if arity < 2 or arity % 2:
        raise InvalidInput(f"fat-tree: arity must be even and at least 2, got {arity}")
    if arity < smallest:
        raise InvalidInput(
            f"fat-tree: arity {arity} holds {arity**3 // 4} servers, got {servers}; use {smallest} or more"
        )
    return arity // 2
