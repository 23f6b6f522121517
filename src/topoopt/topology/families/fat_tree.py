"""The three-tier k-ary fat-tree, drawn as a tree of trunks; full-bisection or oversubscribed.

Parallel paths of a fat-tree are merged: the k/2 uplinks of a ToR are one trunk to its pod, the (k/2)²
uplinks of a pod one trunk to the core. Under equal-split ECMP the members of a trunk carry equal shares of
every flow, so rates on the trunk are those of the full tree; only hash collisions of single-path ECMP
are lost. ``Topology.ports`` keeps the number of physical links, so 3n cables can still be counted.
"""

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.topology.families.family import check_numbers
from topoopt.topology.topology import DEFAULT_LATENCY_S, Topology, topology_from_arrays


def fat_tree(
    servers: int,
    server_bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    oversubscription: float = 1.0,
) -> Topology:
    """Return server – ToR – pod – core; paths have 2 hops in a rack, 4 in a pod, 6 beyond.

    Nodes are numbered servers, ToRs, pods, core. Racks and pods fill up in server order; those that would
    be empty are left out, and the switches of the last ones keep all their uplinks.

    Parameters
    ----------
    server_bandwidth_bps : float
        The one link of a server.
    oversubscription : float
        Bandwidth into a full ToR from its servers over bandwidth out of it; 2 in the paper's "Oversub.
        Fat-tree". The tiers above carry what the ToRs can send.

    Raises
    ------
    InvalidInput
        If ``oversubscription`` is below 1.

    References
    ----------
    .. [1] M. Al-Fares et al., "A scalable, commodity data center network architecture", SIGCOMM 2008.
    """
    check_numbers("fat-tree", servers, 1, server_bandwidth_bps, latency_s)
    if not 1 <= oversubscription < float("inf"):
        raise InvalidInput(f"fat-tree: oversubscription must be at least 1, got {oversubscription}")
    half = fat_tree_arity(servers) // 2
    racks, pods = -(-servers // half), -(-servers // half**2)
    tor, pod, core = servers, servers + racks, servers + racks + pods
    rack = np.repeat(np.arange(racks), half)
    lower = np.concatenate([np.arange(servers), tor + rack, np.repeat(pod + np.arange(pods), half**2)])
    upper = np.concatenate(
        [tor + np.arange(servers) // half, pod + rack // half, np.full(pods * half**2, core)]
    )
    bandwidth = np.full(len(lower), server_bandwidth_bps / oversubscription)
    bandwidth[:servers] = server_bandwidth_bps
    return topology_from_arrays(
        "fat-tree" if oversubscription == 1 else "oversub-fat-tree",
        servers,
        np.concatenate([lower, upper]),
        np.concatenate([upper, lower]),
        np.tile(bandwidth, 2),
        np.full(2 * len(lower), latency_s),
        nodes=core + 1,
    )


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
