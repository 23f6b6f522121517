"""Packed spanning trees: they reach the bound of the tightest set, and carry what is counted."""

from fractions import Fraction
from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest

from tests.collectives.wirings import Arcs, kautz, wired
from topoopt.collectives import play
from topoopt.collectives.algorithms.spanning_trees import PackedTrees, allreduce_along_trees, packed_trees
from topoopt.collectives.frontier.schedules import PIECES
from topoopt.topologies import Topology, circulant, reversed_links

DGX1 = "01 02 03 03 04 04 12 12 13 15 15 23 23 26 37 45 46 47 47 56 56 57 67 67"


def both_ways(cables: Arcs) -> Topology:
    servers = 1 + max(chain.from_iterable(cables))
    return wired(servers, [*cables, *((b, a) for a, b in cables)])


def cliques(count: int, size: int, joined: Arcs) -> Topology:
    """``count`` cliques of ``size`` servers, and cables between them."""
    inside = (combinations(range(size * one, size * (one + 1)), 2) for one in range(count))
    return both_ways([*chain.from_iterable(inside), *joined])


def packed(topology: Topology) -> PackedTrees:
    trees = packed_trees(topology)
    assert trees is not None
    return trees


@pytest.mark.parametrize(
    ("topology", "ports", "messages"),
    [
        (both_ways([(int(cable[0]), int(cable[1])) for cable in DGX1.split()]), 6, 0.875),
        (cliques(2, 6, [(0, 6), (1, 7)]), 6, 1.5),
        (cliques(4, 4, [(0, 4), (5, 8), (9, 12), (13, 1)]), 4, 1.5),
        (kautz(2, 24), 2, 23 / 24),
        (both_ways([*nx.random_regular_graph(3, 16, seed=1).edges()]), 3, 0.9375),
    ],
    ids=["DGX-1", "dumbbell", "ring of cliques", "Kautz", "regular"],
)
def test_known_optima_are_reached(topology: Topology, ports: int, messages: float) -> None:
    """Volumes by hand from the tightest cut: 6 servers by 2 ports of 6 are 6/2 · 6/12, 12 by 2 of 4 are 12/2 · 4/16."""
    assert packed(topology).volume(ports, PIECES[-1]) == pytest.approx(messages, rel=1e-4)
    assert packed(topology).volume(ports, 10**12) == pytest.approx(messages, rel=1e-9)


def random_wiring(seed: int) -> Topology:
    """A connected graph of 3 to 9 servers, by turns duplex and directed, with parallel links."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(3, 10))
    order = draw.permutation(n)
    ring = [(int(a), int(b)) for a, b in zip(order, np.roll(order, 1), strict=True)]
    more = [(int(a), int(b)) for a, b in draw.integers(0, n, (int(draw.integers(0, 3 * n)), 2)) if a != b]
    return both_ways([*ring, *more]) if seed % 2 else wired(n, [*ring, *more])


def least_time(topology: Topology) -> Fraction:
    """The largest |S| / ports out of S over all sets."""
    n = topology.servers
    sets = chain.from_iterable(combinations(range(n), size) for size in range(1, n))
    inside = np.array([[server in chosen for server in range(n)] for chosen in sets])
    leaves = inside[:, topology.src] & ~inside[:, topology.dst]
    ports = (leaves * topology.ports).sum(axis=1)
    return max(Fraction(int(s), int(p)) for s, p in zip(inside.sum(axis=1), ports, strict=True))


@pytest.mark.parametrize("block", range(10))
def test_every_random_wiring_reaches_its_bound(block: int) -> None:
    """300 of them, against all sets of servers; trees span, and every shard arrives over links that there are."""
    for seed in range(30 * block, 30 * block + 30):
        topology = random_wiring(seed)
        n, trees = topology.servers, packed(topology)
        assert trees.volume(n, 10**12) == pytest.approx(float(least_time(topology)), rel=1e-9), seed
        assert trees.depth.min() == 0, seed
        assert np.bincount(trees.root, trees.units, n).tolist() == [trees.per_root] * n, seed
        gather = trees.all_gather(2)
        assert (topology.link_ids(gather.src, gather.dst) >= 0).all(), seed
        assert play(gather).missing == 0, seed
        assert play(packed(reversed_links(topology)).all_gather().backwards()).missing == 0, seed


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 16])
def test_the_volume_is_what_a_played_schedule_carries(pieces: int) -> None:
    """On a wiring without parallel links, of which a port is a link."""
    topology = both_ways([*nx.random_regular_graph(3, 12, seed=5).edges()])
    trees = packed(topology)
    played = play(trees.all_gather(pieces))
    assert len(played.fullest) == trees.height + pieces - 1
    assert trees.volume(3, pieces) == pytest.approx(float(sum(played.shards(12))) * 3 / 12, rel=1e-12)


def test_an_allreduce_of_a_group_uses_its_own_links() -> None:
    ring = allreduce_along_trees(circulant(16, [2, 3], 100e9), tuple(range(0, 16, 2)))
    assert ring is not None
    assert play(ring).missing == 0
    assert ring.ranks == 8
    assert allreduce_along_trees(circulant(16, [1, 3], 100e9), (0, 2, 4, 6)) is None
