import numpy as np
from topoopt.routing import Fabric
from topoopt.topology import hops_from
from topoopt.traffic import Traffic
_LARGEST_MATRIX = 2048

def load_s(fabric: Fabric, traffic: Traffic) -> float:
    """Return the seconds of the fullest link's AllReduces, and those of all links' other bytes on the average."""
    topology = fabric.topology
    reduced = np.zeros(len(topology))
    for group in traffic.allreduce:
        rings = fabric.rings[group.members]
        each_bytes = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            reduced += each_bytes * np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology))
    crossed = _bytes_times_hops(fabric, traffic)
    fullest = float((reduced / topology.bandwidth_bps).max())
    return 8.0 * (fullest + crossed / float(topology.bandwidth_bps.sum()))


def _bytes_times_hops(fabric: Fabric, traffic: Traffic) -> float:
    topology, servers = fabric.topology, traffic.servers
    if not traffic.mp_bytes:
        return 0.0
    sources = np.arange(servers)
    if servers <= _LARGEST_MATRIX:
        return float((traffic.mp_matrix() * hops_from(topology, sources)[:, :servers]).sum())
    some = sources[:: servers // 64]
    return traffic.mp_bytes * float(hops_from(topology, some)[:, :servers].mean())
