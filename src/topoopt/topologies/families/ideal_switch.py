"""The ideal switch: one non-blocking switch that every server has one fat link to."""

import numpy as np

from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.topology import Topology, check_numbers, topology_of_cables


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
