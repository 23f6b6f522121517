"""One path a pair: of each pair's paths one, such that links are loaded as evenly as whole paths allow."""

from itertools import pairwise

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import ExplicitRoutes, Path, Routes, explicit_routes
from topoopt.topologies import Topology

_MOST_ROUNDS = 50


def single_paths(topology: Topology, routes: Routes) -> ExplicitRoutes:
    """Return routes of one path a pair, out of the paths that the pair has.

    In a kernel a connection is on one path, and programs such as gloo open one a pair, so that shares of a pair's
    bytes could not be held. Every pair counts alike. The path of the largest weight is taken first; then pair after
    pair moves to the path that makes the sum of all links' squared loads smallest, until none gains.
    """
    pairs = [(src, dst) for src in range(topology.servers) for dst in range(topology.servers) if src != dst]
    options = [sorted(routes.paths(*pair), key=lambda path: -path.weight) for pair in pairs]
    links = [[_links(topology, path) for path in some] for some in options]
    chosen = [0] * len(pairs)
    load: Floats = np.zeros(len(topology))
    for some in links:
        load[some[0]] += 1
    weight = topology.bandwidth_bps.max() / topology.bandwidth_bps
    for _ in range(_MOST_ROUNDS):
        moved = False
        for pair, some in enumerate(links):
            now = chosen[pair]
            load[some[now]] -= 1
            cost = [float((weight[one] * (2 * load[one] + 1)).sum()) for one in some]
            best = min(range(len(some)), key=lambda k: (round(cost[k], 9), k != now, k))
            load[some[best]] += 1
            moved |= best != now
            chosen[pair] = best
        if not moved:
            break
    return explicit_routes(
        topology, (Path(some[best].nodes) for some, best in zip(options, chosen, strict=True))
    )


def _links(topology: Topology, path: Path) -> Ints:
    return np.array([topology.link_id(a, b) for a, b in pairwise(path.nodes)])
