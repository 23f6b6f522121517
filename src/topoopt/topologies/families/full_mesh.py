"""The full mesh: every pair of servers has its own link."""

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.topology import Topology, check_numbers, topology_from_arrays

_MOST_SERVERS = 4096  # 16.8 million directed links


def full_mesh(servers: int, server_bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S) -> Topology:
    """Return the mesh; the bandwidth of a server is divided equally over the n-1 others.

    Raises
    ------
    InvalidInput
        Above 4096 servers, where the links alone would fill memory.
    """
    check_numbers("full-mesh", servers, 1, server_bandwidth_bps, latency_s)
    if servers > _MOST_SERVERS:
        raise InvalidInput(f"full-mesh: at most {_MOST_SERVERS} servers, got {servers}; use another fabric")
    src, dst = np.divmod(np.arange(servers * servers), servers)
    src, dst = src[src != dst], dst[src != dst]
    each_bps = server_bandwidth_bps / (servers - 1)
    return topology_from_arrays("full-mesh", servers, src, dst, each_bps, latency_s)
