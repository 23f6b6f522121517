"""A certified interval around the lowest highest link load, where the linear program is too large.

Upper end: every source's flow is moved again and again towards its cheapest tree, a link's price growing
exponentially with its load (Frank-Wolfe by blocks on a soft maximum that sharpens). Lower end: for any
lengths l >= 0 of the links, bytes cannot travel less than the shortest distance, so

    highest load >= (sum of demand · distance_l + sum of background · l) / sum of capacity · l,

and the prices themselves are good lengths (linear programming duality).
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.routing.path_weights_kernel import (
    Graph,
    demand_distance,
    price_links,
    reroute_sources,
    tree_loads,
)
from topoopt.topologies import Topology

# One unit of work is a link of a source visited: about 20 ns, so the whole takes about a second.
_WORK = 40_000_000
_MOST_SWEEPS = 400
_BOUND_EVERY = 4
_CLOSE = 1e-6
# The same for loads alone, on many servers.
_WORK_OF_PRICES = 100_000_000
_MOST_ROUNDS = 40
_CLOSE_ENOUGH = 1e-4
_SHARP = (100.0, 200.0, 50.0, 400.0)
# More flow variables would not fit well in memory: 8 bytes each.
_MOST_FLOWS = 30_000_000


@dataclass(frozen=True, slots=True)
class _Case:
    """Demand, in units of the largest pair's bytes and of the fastest link's bandwidth."""

    topology: Topology
    demand: Floats
    background: Floats
    speed: Floats

    def peak(self, load: Floats) -> float:
        return float((load / self.speed).max())


def rerouted_max_load(topology: Topology, demand: Floats, background_s: Floats) -> tuple[float, float]:
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
    case, unit_s = _case_of(topology, demand, background_s)
    lower = max(_cut_bound(case), _length_bound(case, 1.0 / case.speed))
    sweeps = int(np.clip(_WORK / (topology.servers * len(topology)), 0, _MOST_SWEEPS))
    keep = topology.servers * len(topology) <= _MOST_FLOWS
    # the flows along shortest trees (none if not to be kept) and the loads with the background
    servers, links = case.topology.servers, len(case.speed)
    graph = graph_of(case.topology)
    flow = np.zeros((servers if keep else 0, links))
    load, one = case.background.copy(), np.empty(links)
    for source in range(servers):
        tree_loads(graph, 1.0 / case.speed, source, case.demand[source], one)
        load += one
        if keep:
            flow[source] = one
    if not keep:
        return case.peak(load) * unit_s, lower * unit_s
    best, lower = _sweep(case, flow, load, sweeps, lower)
    return best * unit_s, lower * unit_s


def improved_max_load(
    topology: Topology, demand: Floats, background_s: Floats, loads_s: Floats
) -> tuple[float, float]:
    """Return the same for many servers, beginning with the loads of a routing that is there.

    The prices of its loads, more or less sharp, are lengths for the bound already. After that, where there are not too
    many servers, the loads move towards those of the cheapest trees (Frank-Wolfe on loads alone: no flow of a source is
    kept, so room is no question).

    Parameters
    ----------
    loads_s : float64 array, shape (links,)
        Seconds each link is busy under that routing, the background included.
    """
    case, unit_s = _case_of(topology, demand, background_s)
    load = loads_s / unit_s * case.speed
    best, lower = case.peak(load), max(_cut_bound(case), _length_bound(case, 1.0 / case.speed))
    rounds = int(np.clip(_WORK_OF_PRICES / (topology.servers * len(topology)), 0, _MOST_ROUNDS))
    sharpest, highest, length = _SHARP[0], 0.0, np.empty(len(load))
    for turn in range(len(_SHARP) + rounds):
        if lower >= best * (1 - _CLOSE_ENOUGH):
            break
        sharp = _SHARP[turn] if turn < len(_SHARP) else sharpest
        price_links(load, case.speed, sharp, length)
        graph, trees, one = graph_of(case.topology), case.background.copy(), np.empty(len(length))
        for source in np.flatnonzero(case.demand.any(axis=1)).tolist():
            tree_loads(graph, length, source, case.demand[source], one)
            trees += one
        bound = float(trees @ length / (case.speed @ length))
        if turn < len(_SHARP) and bound > highest:
            sharpest, highest = sharp, bound
        if turn >= len(_SHARP):
            steps = np.concatenate(([0.01], np.geomspace(0.02, 0.5, 12).round(9)))
            peaks = [case.peak(load + step * (trees - load)) for step in steps]
            load = np.asarray(load + steps[int(np.argmin(peaks))] * (trees - load), np.float64)
        lower, best = max(lower, bound), min(best, case.peak(load))
    return best * unit_s, lower * unit_s


def _case_of(topology: Topology, demand: Floats, background_s: Floats) -> tuple[_Case, float]:
    fastest_bps = topology.bandwidth_bps.max()
    speed = topology.bandwidth_bps / fastest_bps
    unit_s = float(demand.max()) * 8 / float(fastest_bps)
    scaled = np.ascontiguousarray(demand / demand.max())
    return _Case(topology, scaled, background_s / unit_s * speed, speed), unit_s


def graph_of(topology: Topology) -> Graph:
    """Return a topology as the kernel's graph, with room for a tree on it."""
    far, through = np.empty((2, topology.nodes))
    via, queue, mark = np.empty((3, topology.nodes), np.int32)
    return Graph(topology.first_link, topology.src, topology.dst, far, via, queue, mark, through)


def _sweep(case: _Case, flow: Floats, load: Floats, sweeps: int, lower: float) -> tuple[float, float]:
    speed, best = case.speed, case.peak(load)
    graph, room = graph_of(case.topology), np.empty((2, len(speed)))
    mean_length, length = np.zeros(len(speed)), np.empty(len(speed))
    for sweep, sharp in enumerate(np.geomspace(10.0, 1000.0, max(sweeps, 8)).round(9).tolist()):
        reroute_sources(graph, case.demand, speed, flow, load, sharp, *room)
        best = min(best, case.peak(load))
        price_links(load, speed, sharp, length)
        # Prices swing; their running mean is usually the better dual.
        mean_length = 0.9 * mean_length + 0.1 * length / (length @ speed)
        if sweep % _BOUND_EVERY == _BOUND_EVERY - 1:
            lower = max(lower, _length_bound(case, length), _length_bound(case, mean_length))
            if lower >= best * (1 - _CLOSE):
                break
    return best, lower


def _length_bound(case: _Case, length: Floats) -> float:
    travelled = demand_distance(graph_of(case.topology), case.demand, length)
    return float((travelled + case.background @ length) / (case.speed @ length))


def _cut_bound(case: _Case) -> float:
    """Return the bound of the fullest server: its bytes out, or in, over all its links."""
    n, nodes = case.topology.servers, case.topology.nodes
    highest = 0.0
    for end, axis in ((case.topology.src, 1), (case.topology.dst, 0)):
        bytes_through = case.demand.sum(axis=axis) + np.bincount(end, case.background, nodes)[:n]
        room = np.bincount(end, case.speed, nodes)[:n]
        used = room > 0
        highest = max(highest, float((bytes_through[used] / room[used]).max(initial=0.0)))
    return highest
