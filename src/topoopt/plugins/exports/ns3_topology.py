"""The wiring as a topology file of ns-3, in the two dialects of ASTRA-sim and SimAI.

A host of these never forwards; so every server is a host and a switch of its own, which have a link of all interfaces
between them, and cables go from switch to switch. Packets take shortest paths by hops, spread by a hash: other routes
cannot be said, and a plan that has them is refused.

References
----------
.. [1] github.com/astra-sim/astra-sim, ``examples/network/ns3/topology``: the lines of a file.
.. [2] github.com/aliyun/SimAI, ``ns-3-alibabacloud``, ``common.h``: which kinds of nodes forward, and the first line.
"""

import json
from collections.abc import Iterator

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.astra_sim import system
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.routing import Fabric, path_arrays, used_paths
from topoopt.search import task_graph_of
from topoopt.simulation import pair_demands
from topoopt.topologies import Ring, hops_from

HOST_LATENCY_MS = 1e-6
"""Between a host and its own switch: a nanosecond, since ns-3 takes zero for none."""

README = """\
topology.txt            The plan's wiring: hosts 0 to {last}, and behind each of them a switch of its own, since a host
                        does not forward (TOPOLOGY_FILE of the ns-3 configuration).
logical_topology.json   --logical-topology-configuration
system.json             --system-configuration
Traces and groups are those of format chakra. Routes are ns-3's own: by hops, and where several paths are the shortest,
hashed over all of them. The plan's routes are shortest paths, too, but their shares of bytes cannot be said.
"""


def astra_sim_ns3(deployment: Deployment) -> Contents:
    """Return the topology for ASTRA-sim's ns-3, rank r on server r, with its files beside the traces.

    Raises
    ------
    Infeasible
        If links go one way, or the plan's routes are not shortest paths.
    """
    check_routes(deployment)
    cluster, n = deployment.plan.job.cluster, deployment.plan.fabric.topology.servers
    own = [
        _line(host, n + host, cluster.degree * cluster.link_bandwidth_bps, HOST_LATENCY_MS)
        for host in range(n)
    ]
    lines = [*own, *cable_lines(deployment, n)]
    switches = " ".join(map(str, range(n, 2 * n)))
    return {
        "topology.txt": "\n".join((f"{2 * n} {n} {len(lines)}", switches, *lines)) + "\n",
        "logical_topology.json": json.dumps({"logical-dims": [str(n)]}) + "\n",
        "system.json": json.dumps(system("ring"), indent=1) + "\n",
        "README.txt": README.format(last=n - 1),
    }


def cable_lines(deployment: Deployment, first: int) -> Iterator[str]:
    """Yield the cables between the servers' switches, of which the first has this number; parallel ones are one."""
    for link in deployment.plan.fabric.topology:
        if link.src < link.dst:
            yield _line(first + link.src, first + link.dst, link.bandwidth_bps, link.latency_s * 1e3)


def _line(src: int, dst: int, bandwidth_bps: float, latency_ms: float) -> str:
    return f"{src} {dst} {bandwidth_bps / 1e9:g}Gbps {milliseconds(latency_ms)} 0"


def milliseconds(time_ms: float) -> str:
    """Return a time as these files have it, without an exponent."""
    return f"{time_ms:.9f}".rstrip("0").rstrip(".") + "ms"


def check_routes(deployment: Deployment) -> None:
    """Refuse a plan that ns-3 would route otherwise.

    Raises
    ------
    Infeasible
        If links go one way, or bytes take a path that is not one of the shortest.
    """
    plan = deployment.plan
    if not plan.fabric.topology.both_ways:
        raise Infeasible("links go one way; ns-3's point-to-point links go both ways")
    _, src, dst, _ = pair_demands(task_graph_of(plan.job, plan.strategy))
    n = plan.fabric.topology.servers
    pairs = np.unique(src * n + dst)
    src, dst = np.divmod(pairs, n)
    hops = hops_from(plan.fabric.topology, np.arange(n))
    detours = _detours(plan.fabric, src, dst, hops)
    segments = [
        segment for rings in plan.fabric.rings.values() for ring in rings for segment in _segments(ring)
    ]
    around = sum(int(hops[a, b]) < length for a, b, length in segments)
    if detours or around:
        ways = f"{detours} of {len(pairs)} pairs of servers" if detours else f"{around} neighbors on rings"
        raise Infeasible(
            f"{ways} send along paths that are not the shortest, and ns-3 takes none but the shortest"
        )


def _detours(fabric: Fabric, src: np.ndarray, dst: np.ndarray, hops: np.ndarray) -> int:
    """Return how many of the pairs have a longer path."""
    paths = used_paths(path_arrays(fabric.routes, src, dst))
    pair = np.repeat(np.arange(len(src)), np.diff(paths.path_first))
    longer = np.diff(paths.node_first) - 1 > hops[src[pair], dst[pair]]
    return len(np.unique(pair[longer]))


def _segments(ring: Ring) -> Iterator[tuple[int, int, int]]:
    """Yield neighbors on a ring and the links between them, where these are several."""
    if ring.hops == len(ring.members):
        return
    members, walk = set(ring.members), (*ring.walk, ring.walk[0])
    last = 0
    for place in range(1, len(walk)):
        if walk[place] in members and place - last > 1:
            yield walk[last], walk[place], place - last
        if walk[place] in members:
            last = place
