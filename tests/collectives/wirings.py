"""Wirings by their definitions, for tests: arcs of a digraph, and what makes larger ones of it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import networkx as nx
import numpy as np

from topoopt.topologies import Topology, circulant, topology_from_arrays

Arcs = list[tuple[int, int]]
BPS = 100e9


def wired(servers: int, arcs: Iterable[tuple[int, int]]) -> Topology:
    """An arc from a server to itself is an idle port."""
    src, dst = np.array([(a, b) for a, b in arcs if a != b], np.int64).T
    return topology_from_arrays("given", servers, src, dst, BPS, 1e-6)


def arcs_of(topology: Topology) -> Arcs:
    """Every port once."""
    rows = zip(topology.src.tolist(), topology.dst.tolist(), topology.ports.tolist(), strict=True)
    return [(src, dst) for src, dst, ports in rows for _ in range(ports)]


def without_offsets(topology: Topology) -> Topology:
    """The same wiring, not known to look the same from everywhere."""
    return wired(topology.servers, arcs_of(topology))


def nearest_strides(n: int) -> Topology:
    """C(n, {k, k+1}) of the least possible diameter."""
    k = int(np.ceil((np.sqrt(2 * n - 1) - 1) / 2))
    return circulant(n, (k, k + 1), BPS)


def kautz(degree: int, n: int) -> Topology:
    """Generalized Kautz: x → -d·x - a mod n, a = 1 .. d (Imase and Itoh)."""
    return wired(n, ((x, (-degree * x - a) % n) for x in range(n) for a in range(1, degree + 1)))


def diamond() -> Topology:
    rows = ["47", "02", "34", "05", "56", "17", "13", "26"]
    return wired(8, ((v, int(w)) for v, row in enumerate(rows) for w in row))


def complete(n: int) -> Topology:
    return wired(n, ((a, b) for a in range(n) for b in range(n) if a != b))


def complete_bipartite(d: int) -> Topology:
    return wired(2 * d, (pair for a in range(d) for b in range(d) for pair in ((a, d + b), (d + b, a))))


def ring_one_way(n: int) -> Topology:
    return circulant(n, (1,), BPS, links="directed")


def line_graph(topology: Topology) -> Topology:
    """A server for each arc; an arc leads to all that begin where it ends."""
    arcs = arcs_of(topology)
    return wired(len(arcs), ((i, j) for i, a in enumerate(arcs) for j, b in enumerate(arcs) if a[1] == b[0]))


def times_degree(topology: Topology, k: int) -> Topology:
    """k copies; every arc leads to all copies of its end."""
    n = topology.servers
    copies = list(product(range(k), repeat=2))
    return wired(n * k, ((a + i * n, b + j * n) for a, b in arcs_of(topology) for i, j in copies))


def cartesian(first: Topology, second: Topology) -> Topology:
    n, m = first.servers, second.servers
    along = [(a * m + c, b * m + c) for a, b in arcs_of(first) for c in range(m)]
    across = [(a * m + c, a * m + d) for c, d in arcs_of(second) for a in range(n)]
    return wired(n * m, along + across)


def power(topology: Topology, k: int) -> Topology:
    """k-th Cartesian power."""
    return topology if k == 1 else cartesian(power(topology, k - 1), topology)


def lifted(group: int, cycles: Sequence[tuple[str, Sequence[int]]]) -> Topology:
    """Union of Hamiltonian cycles, both ways, that looks the same after a turn by one of each orbit."""
    m = len(cycles[0][0])
    arcs: Arcs = []
    for orbits, voltages in cycles:
        order = [int(orbit) for orbit in orbits]
        for here, there, shift in zip(order, [*order[1:], order[0]], voltages, strict=True):
            for r in range(group):
                a, b = r * m + here, (r + shift) % group * m + there
                arcs += [(a, b), (b, a)]
    return wired(m * group, arcs)


def lifted_128_4() -> Topology:
    return lifted(16, [("50412673", (12, 4, 5, 1, 4, 5, 14, 6)), ("16723450", (6, 8, 11, 1, 13, 1, 14, 15))])


def lifted_128_8() -> Topology:
    voltages = ((23, 17, 9, 16), (13, 3, 28, 29), (28, 18, 1, 2), (4, 3, 28, 6))
    return lifted(32, list(zip(("0231", "3201", "3021", "2103"), voltages, strict=True)))


def random_digraph(n: int, degree: int, seed: int) -> Topology:
    """A strongly connected digraph of so many ports in and out, no two links alike."""
    rng, arcs = np.random.default_rng(seed), {(v, v) for v in range(n)}
    while len(arcs) < n * (degree + 1):
        drawn = set(enumerate(rng.permutation(n).tolist()))
        if not drawn & arcs:
            arcs |= drawn
    kept = sorted((a, b) for a, b in arcs if a != b)
    assert nx.is_strongly_connected(nx.DiGraph(kept))
    return wired(n, kept)


NAMED: dict[str, Callable[[], Topology]] = {
    "complete 4": lambda: complete(4),
    "complete bipartite 2": lambda: complete_bipartite(2),
    "complete bipartite 3": lambda: complete_bipartite(3),
    "diamond": diamond,
    "one-way ring of 4": lambda: ring_one_way(4),
    "ring of 5": lambda: circulant(5, (1,), BPS),
    "C(16,{3,4})": lambda: circulant(16, (3, 4), BPS),
    "Kautz 2, 6": lambda: kautz(2, 6),
}
"""Bases of the expansions."""
