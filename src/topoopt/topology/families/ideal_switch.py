"""The ideal switch: one non-blocking switch that every server has one fat link to."""

import numpy as np

from topoopt.topology.families.family import check_numbers
from topoopt.topology.topology import DEFAULT_LATENCY_S, Topology, topology_from_arrays


def ideal_switch(servers: int, server_bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S) -> Topology:
    """Return servers around one switch (node ``servers``); a path has two hops.

    Parameters
    ----------
    server_bandwidth_bps : float
        All interfaces of a server together (d·B in the paper's comparison).
    """
    check_numbers("ideal-switch", servers, 1, server_bandwidth_bps, latency_s)
    leaf = np.arange(servers)
    hub = np.full(servers, servers)
    return topology_from_arrays(
        "ideal-switch",
        servers,
        np.concatenate([leaf, hub]),
        np.concatenate([hub, leaf]),
        np.full(2 * servers, server_bandwidth_bps),
        np.full(2 * servers, latency_s),
        nodes=servers + 1,
    )
