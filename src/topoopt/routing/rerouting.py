"""A certified interval around the lowest highest link load, where the linear program is too large.

Upper end: every source's flow is moved again and again towards its cheapest tree, a link's price growing
exponentially with its load (Frank-Wolfe by blocks on a soft maximum that sharpens). Lower end: for any
lengths l >= 0 of the links, bytes cannot travel less than the shortest distance, so

    highest load >= (sum of demand · distance_l + sum of background · l) / sum of capacity · l,

and the prices themselves are good lengths (linear programming duality).
"""

import numpy as np
from numpy.typing import NDArray

from topoopt.routing.rerouting_kernel import Graph, demand_distance, reroute_sources, tree_loads
from topoopt.topology import Topology

# One unit of work is a link of a source visited: about 20 ns, so the whole takes about a second.
_WORK = 40_000_000
_MOST_SWEEPS = 400
_BOUND_EVERY = 4
_CLOSE = 1e-6
# More flow variables would not fit well in memory: 8 bytes each.
_MOST_FLOWS = 30_000_000


def rerouted_max_load(
    topology: Topology, demand: NDArray[np.float64], background_s: NDArray[np.float64]
) -> tuple[float, float]:
    """Return a highest link load that is reached and a lower bound on all, both in seconds.

    The number of sweeps depends on the sizes only, so equal inputs give equal answers. Every pair with
    demand must be reachable.

    Parameters
    ----------
    demand : float64 array, shape (servers, servers)
        Bytes, at least one positive, zero diagonal.
    background_s : float64 array, shape (links,)
        Seconds each link is busy whatever the routing.
    """
    speed = topology.bandwidth_bps / topology.bandwidth_bps.max()
    unit_s = float(demand.max()) * 8 / float(topology.bandwidth_bps.max())
    scaled = np.ascontiguousarray(demand / demand.max())
    background = background_s / unit_s * speed
    lower = max(
        _cut_bound(topology, scaled, background, speed),
        _length_bound(topology, scaled, background, speed, 1.0 / speed),
    )
    sweeps = int(np.clip(_WORK / (topology.servers * len(topology)), 0, _MOST_SWEEPS))
    keep = topology.servers * len(topology) <= _MOST_FLOWS
    flow, load = _first_trees(topology, scaled, background, speed, keep)
    if not keep:
        return float((load / speed).max()) * unit_s, lower * unit_s
    best, lower = _sweep(topology, scaled, background, speed, flow, load, sweeps, lower)
    return best * unit_s, lower * unit_s


def graph_of(topology: Topology) -> Graph:
    """Return a topology as the kernel's graph, with room for a tree on it."""
    nodes = topology.nodes
    via, queue, mark = np.empty((3, nodes), np.int32)
    first_link = topology.first_link.astype(np.int64)
    return Graph(first_link, topology.src, topology.dst, np.empty(nodes), via, queue, mark, np.empty(nodes))


def _sweep(
    topology: Topology,
    demand: NDArray[np.float64],
    background: NDArray[np.float64],
    speed: NDArray[np.float64],
    flow: NDArray[np.float64],
    load: NDArray[np.float64],
    sweeps: int,
    lower: float,
) -> tuple[float, float]:
    best = float((load / speed).max())
    graph, room = graph_of(topology), np.empty((2, len(topology)))
    mean_length = np.zeros(len(topology))
    for sweep, sharp in enumerate(np.geomspace(10.0, 1000.0, max(sweeps, 8))):
        reroute_sources(graph, demand, speed, flow, load, sharp, *room)
        best = min(best, float((load / speed).max()))
        length = (np.exp(sharp * (load / speed / (load / speed).max() - 1.0)) + 1e-12) / speed
        # Prices swing; their running mean is usually the better dual.
        mean_length = 0.9 * mean_length + 0.1 * length / (length @ speed)
        if sweep % _BOUND_EVERY == _BOUND_EVERY - 1:
            bounds = (_length_bound(topology, demand, background, speed, x) for x in (length, mean_length))
            lower = max(lower, *bounds)
            if lower >= best * (1 - _CLOSE):
                break
    return best, lower


def _first_trees(
    topology: Topology,
    demand: NDArray[np.float64],
    background: NDArray[np.float64],
    speed: NDArray[np.float64],
    keep: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the flows along shortest trees (none if not to be kept) and the loads with the background."""
    links = len(topology)
    graph = graph_of(topology)
    flow = np.zeros((topology.servers if keep else 0, links))
    load, one = background.copy(), np.empty(links)
    for source in range(topology.servers):
        tree_loads(graph, 1.0 / speed, source, demand[source], one)
        load += one
        if keep:
            flow[source] = one
    return flow, load


def _length_bound(
    topology: Topology,
    demand: NDArray[np.float64],
    background: NDArray[np.float64],
    speed: NDArray[np.float64],
    length: NDArray[np.float64],
) -> float:
    travelled = demand_distance(graph_of(topology), demand, length)
    return float((travelled + background @ length) / (speed @ length))


def _cut_bound(
    topology: Topology,
    demand: NDArray[np.float64],
    background: NDArray[np.float64],
    speed: NDArray[np.float64],
) -> float:
    """Return the bound of the fullest server: its bytes out, or in, over all its links."""
    n = topology.servers
    highest = 0.0
    for end, total in ((topology.src, demand.sum(axis=1)), (topology.dst, demand.sum(axis=0))):
        bytes_through = total + np.bincount(end, background, topology.nodes)[:n]
        room = np.bincount(end, speed, topology.nodes)[:n]
        used = room > 0
        highest = max(highest, float((bytes_through[used] / room[used]).max(initial=0.0)))
    return highest
