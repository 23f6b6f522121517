"""Routes on small random graphs: for every pair a few simple paths, short or not, with any weights."""

import itertools

import numpy as np
from hypothesis import strategies as st

from topoopt.routing import ExplicitRoutes, Path, explicit_routes
from topoopt.topologies import Link, Topology, topology_from_links


@st.composite
def routed_graphs(draw: st.DrawFn) -> tuple[Topology, ExplicitRoutes]:
    """Return a ring with chords and parallel links, and up to three paths of every pair."""
    servers = draw(st.integers(3, 7))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    ends = [(i, (i + 1) % servers) for i in range(servers)]
    ends += [tuple(rng.choice(servers, 2, replace=False).tolist()) for _ in range(int(rng.integers(0, 8)))]
    both = [Link(a, b, 1e9) for a, b in ends] + [Link(b, a, 1e9) for a, b in ends]
    topology = topology_from_links("test", servers, both)
    paths = [
        path
        for a, b in itertools.permutations(range(servers), 2)
        for path in _some_paths(topology, a, b, int(rng.integers(1, 4)), rng)
    ]
    return topology, explicit_routes(topology, paths)


def _some_paths(topology: Topology, src: int, dst: int, count: int, rng: np.random.Generator) -> list[Path]:
    found: set[tuple[int, ...]] = set()
    for _ in range(8 * count):
        walk = [src]
        while walk[-1] != dst:
            first, last = topology.first_link[walk[-1] : walk[-1] + 2]
            new = [node for node in topology.dst[first:last].tolist() if node not in walk]
            if not new:
                break
            walk.append(int(rng.choice(new)))
        if walk[-1] == dst and len(found) < count:
            found.add(tuple(walk))
    if not found:  # the ring leads there
        step = range(src, src + (dst - src) % topology.servers + 1)
        found.add(tuple(node % topology.servers for node in step))
    part = rng.integers(1, 9, len(found)).astype(float)
    weights = (part / part.sum()).tolist()
    return [Path(nodes, weight) for nodes, weight in zip(sorted(found), weights, strict=True)]
