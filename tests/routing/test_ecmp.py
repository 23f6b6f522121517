"""Many shortest paths at once, and a fair draw where a pair has too many to list."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.routing import (
    BalancedRoutes,
    EcmpRoutes,
    Fabric,
    KShortestRoutes,
    pair_links,
    path_table,
    routes_from_mapping,
    routes_to_mapping,
)
from topoopt.topologies import Link, Topology, expander, topology_from_links, torus


def ladder(rungs: list[int]) -> Topology:
    """Return server 0 – switches – server 1 with so many parallel switches in each stage, all joined."""
    stages: list[list[int]] = [[0]]
    for width in rungs:
        start = 2 + sum(len(stage) for stage in stages[1:])
        stages.append(list(range(start, start + width)))
    stages.append([1])
    cables = [(a, b) for left, right in itertools.pairwise(stages) for a in left for b in right]
    links = [Link(*ends, 100e9) for a, b in cables for ends in ((a, b), (b, a))]
    return topology_from_links("test", 2, links, 2 + sum(rungs))


@settings(max_examples=40)
@given(st.integers(2, 24), st.integers(2, 5), st.integers(1, 5), st.integers(0, 3))
def test_many_pairs_at_once_get_the_paths_of_each_alone(
    servers: int, degree: int, limit: int, seed: int
) -> None:
    topology = expander(servers, degree, 1e9, seed=seed)
    routes = EcmpRoutes(topology, limit, seed)
    src, dst = np.divmod(np.arange(servers * servers), servers)
    arrays = routes.path_arrays(src, dst)
    flat = [
        path for a, b in zip(src.tolist(), dst.tolist(), strict=True) if a != b for path in routes.paths(a, b)
    ]
    assert np.split(arrays.nodes, arrays.node_first[1:-1])[0].tolist() == list(flat[0].nodes)
    assert arrays.nodes.tolist() == [node for path in flat for node in path.nodes]
    assert arrays.weight.tolist() == [path.weight for path in flat]
    size = [0 if a == b else len(routes.paths(a, b)) for a, b in zip(src.tolist(), dst.tolist(), strict=True)]
    assert np.diff(arrays.path_first).tolist() == size


@settings(max_examples=30)
@given(st.sampled_from([(9, 9), (12, 12), (3, 5, 7), (100,)]), st.integers(0, 50))
def test_a_draw_takes_every_next_hop_as_often_as_it_should(rungs: tuple[int, ...], seed: int) -> None:
    topology = ladder(list(rungs))
    limit = 64
    paths = EcmpRoutes(topology, limit, seed).paths(0, 1)
    assert len(paths) == min(limit, int(np.prod(rungs)))
    assert sum(path.weight for path in paths) == pytest.approx(1, abs=1e-12)
    first = np.bincount([path.nodes[1] for path in paths], [path.weight for path in paths])[2 : 2 + rungs[0]]
    assert np.abs(first - 1 / rungs[0]).max() <= 1 / limit + 1e-12


def test_over_many_seeds_every_path_is_drawn_with_its_share() -> None:
    # 0 – {2, 3} – …: two next hops, one of which leads on over three, the other over nine nodes.
    cables = [(0, 2), (0, 3), *((2, i) for i in range(4, 7)), *((3, i) for i in range(7, 16))]
    cables += [(i, 1) for i in range(4, 16)]
    links = [Link(*ends, 100e9) for a, b in cables for ends in ((a, b), (b, a))]
    topology = topology_from_links("test", 2, links, 16)
    total = np.zeros(16)
    for seed in range(2000):
        for path in EcmpRoutes(topology, 2, seed).paths(0, 1):
            total[path.nodes[2]] += path.weight / 2000
    assert total[4:7] == pytest.approx(np.full(3, 1 / 6), abs=0.02)
    assert total[7:] == pytest.approx(np.full(9, 1 / 18), abs=0.02)


def test_a_path_heavier_than_one_draw_is_listed_once_with_all_its_draws() -> None:
    # Half of the bytes take the lone way over node 2; the other half share ten ways over node 3.
    cables = [
        (0, 2),
        (0, 3),
        (2, 4),
        (4, 1),
        *((3, i) for i in range(5, 15)),
        *((i, 1) for i in range(5, 15)),
    ]
    links = [Link(*ends, 100e9) for a, b in cables for ends in ((a, b), (b, a))]
    paths = EcmpRoutes(topology_from_links("test", 2, links, 15), limit=4).paths(0, 1)
    assert {path.nodes: path.weight for path in paths}[0, 2, 4, 1] == 0.5
    assert len(paths) == 3


def test_a_draw_needs_no_listing_of_all_paths() -> None:
    # Opposite corners of a 16 × 16 × 16 torus are 24!/(8!)³ · 8 = 7.6e10 shortest paths apart.
    topology = torus(4096, 600e9, dimensions=3)
    far = int(np.ravel_multi_index((8, 8, 8), (16, 16, 16)))
    paths = EcmpRoutes(topology, seed=1).paths(0, far)
    assert len(paths) == 64
    assert {path.hops for path in paths} == {24}
    assert EcmpRoutes(topology, seed=2).paths(0, far) != paths


def test_a_file_keeps_the_seed_of_a_draw() -> None:
    topology = ladder([10, 10])
    routes = EcmpRoutes(topology, seed=5)
    read = routes_from_mapping(routes_to_mapping(routes), topology)
    assert read.paths(0, 1) == routes.paths(0, 1)
    assert routes_to_mapping(EcmpRoutes(topology)) == {"method": "ecmp", "limit": 64}


def test_balanced_weights_apply_to_many_pairs_at_once() -> None:
    topology = expander(12, 4, 1e9, seed=1)
    candidates = KShortestRoutes(topology)
    pairs = [(0, b) for b in range(1, 12) if len(candidates.paths(0, b)) > 1][:2]
    counts = [len(candidates.paths(*pair)) for pair in pairs]
    weights = [np.array([0.0, *np.full(count - 1, 1 / (count - 1))]) for count in counts]
    first = np.concatenate(([0], np.cumsum(counts)))
    src, dst = np.array(pairs).T
    routes = BalancedRoutes(topology, candidates, src, dst, first, np.concatenate(weights))
    everyone = np.arange(1, 12)
    table = path_table(Fabric("test", topology, routes, {}), 0 * everyone, everyone)
    assert np.diff(table.pair_first).tolist() == [len(routes.paths(0, b)) for b in range(1, 12)]
    shares = pair_links(topology, routes, 0 * everyone, everyone)
    weight = np.repeat(table.weight, table.hops)
    load = np.bincount(table.link, weight, minlength=len(topology))
    assert load == pytest.approx(shares.loads(np.ones(11), len(topology)))


def test_a_limit_of_no_path_is_refused() -> None:
    with pytest.raises(InvalidInput, match="limit must be at least 1, got 0"):
        EcmpRoutes(ladder([2]), limit=0)
