import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import (
    BalancedRoutes,
    CoinChangeRoutes,
    EcmpRoutes,
    KShortestRoutes,
    Routes,
    SingleShortestRoutes,
    all_pair_links,
    balanced,
    balanced_routes,
    link_loads,
    max_load_s,
    optimal_max_load,
    routes_from_mapping,
    routes_to_mapping,
)
from topoopt.topologies import Link, Topology, lifted_of, topology_from_arrays, topology_from_links


def circulant(n: int, *strides: int) -> Topology:
    offsets = tuple(sorted({offset for p in strides for offset in (p, n - p)}))
    src = np.repeat(np.arange(n), len(offsets))
    dst = (src + np.tile(offsets, n)) % n
    size = len(src)
    return topology_from_arrays(
        "circulant", n, src, dst, np.full(size, 100e9), np.full(size, 1e-6), None, offsets
    )


def some_demand(n: int, seed: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    demand = rng.random((n, n)) * (rng.random((n, n)) < share) * 1e6
    demand[0, n // 2] = 1e6
    return demand * (1 - np.eye(n))


def highest_s(topology: Topology, routes: Routes, demand: np.ndarray, background: np.ndarray) -> float:
    return max_load_s(topology, link_loads(topology, routes, demand) + background)


@settings(max_examples=25)
@given(
    st.sampled_from([(16, (1, 5)), (24, (1, 5, 7)), (15, (1, 4))]),
    st.integers(0, 99),
    st.sampled_from([0.05, 0.3, 1.0]),
    st.sampled_from([CoinChangeRoutes, KShortestRoutes, EcmpRoutes, SingleShortestRoutes]),
)
def test_balancing_never_worsens_the_fullest_link_nor_beats_the_optimum(
    shape: tuple[int, tuple[int, ...]], seed: int, share: float, method: type
) -> None:
    topology = circulant(shape[0], *shape[1])
    demand = some_demand(shape[0], seed, share)
    background = np.random.default_rng(seed).random(len(topology)) * 1e6
    candidates = method(topology)
    routes = balanced_routes(topology, demand, candidates, background)
    after = highest_s(topology, routes, demand, background)
    assert after <= highest_s(topology, candidates, demand, background)
    assert after >= optimal_max_load(topology, demand, background).lower_bound_s * (1 - 1e-9)
    every = all_pair_links(topology, routes)
    assert np.allclose(every.mean_hops(), all_pair_links(topology, candidates).mean_hops())
    for src, dst in np.argwhere(demand)[:5].tolist():
        paths = routes.paths(src, dst)
        assert sum(path.weight for path in paths) == pytest.approx(1)
        assert {path.nodes for path in paths} <= {path.nodes for path in candidates.paths(src, dst)}


def test_two_ways_share_a_transfer_around_a_busy_link() -> None:
    # 0 -> 3 by way of 1 or 2; ring traffic already keeps 0 -> 1 busy with 6 MB.
    links = [Link(a, b, 100e9) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3), (3, 0))]
    topology = topology_from_links("test", 4, links)
    demand = np.zeros((4, 4))
    demand[0, 3] = 10e6
    background = np.zeros(len(topology))
    background[topology.link_id(0, 1)] = 6e6
    routes = balanced_routes(topology, demand, KShortestRoutes(topology), background)
    weights = {path.nodes[1]: path.weight for path in routes.paths(0, 3)}
    assert weights == pytest.approx({1: 0.2, 2: 0.8}, abs=1e-5)
    assert highest_s(topology, routes, demand, background) == pytest.approx(8e6 * 8 / 100e9, rel=1e-5)


@pytest.mark.parametrize(("seed", "share"), [(0, 0.3), (1, 1.0)])
def test_shifting_weights_comes_close_to_the_program(
    seed: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = circulant(48, 1, 7)
    demand = some_demand(48, seed, share)
    nothing = np.zeros(len(topology))
    candidates = KShortestRoutes(topology)
    monkeypatch.setattr(balanced, "_LARGEST_LP", 0)
    shifted = balanced_routes(topology, demand, candidates)
    monkeypatch.setattr(balanced, "_LARGEST_LP", 100_000)
    solved = balanced_routes(topology, demand, candidates)
    ratio = highest_s(topology, shifted, demand, nothing) / highest_s(topology, solved, demand, nothing)
    # Weights are rounded to six digits, hence a ratio a little below one is possible.
    assert 1 - 1e-5 <= ratio <= 1.01


def test_pairs_without_demand_keep_their_paths() -> None:
    topology = circulant(16, 1, 5)
    demand = np.zeros((16, 16))
    demand[0, 6] = demand[0, 1] = 1e6
    candidates = CoinChangeRoutes(topology)
    routes = balanced_routes(topology, demand, candidates)
    assert routes.paths(3, 9) == candidates.paths(3, 9)


def test_one_path_a_pair_leaves_nothing_to_balance() -> None:
    topology = circulant(16, 1, 5)
    candidates = SingleShortestRoutes(topology)
    assert balanced_routes(topology, some_demand(16, 0, 1.0), candidates) is candidates


def test_no_demand_leaves_the_candidates() -> None:
    topology = circulant(16, 1, 5)
    candidates = CoinChangeRoutes(topology)
    assert balanced_routes(topology, np.zeros((16, 16)), candidates) is candidates


def test_wrong_shapes_are_refused() -> None:
    topology = circulant(16, 1, 5)
    with pytest.raises(InvalidInput, match="expected demand 16×16 and 64 background numbers"):
        balanced_routes(topology, np.zeros((4, 4)), CoinChangeRoutes(topology))


def test_balanced_routes_load_links_alike_after_a_plan_file() -> None:
    topology = circulant(16, 1, 5)
    demand = some_demand(16, 3, 0.4)
    routes = balanced_routes(topology, demand, KShortestRoutes(topology, seed=5))
    assert isinstance(routes, BalancedRoutes)
    again = routes_from_mapping(json.loads(json.dumps(routes_to_mapping(routes))), topology)
    assert np.array_equal(link_loads(topology, routes, demand), link_loads(topology, again, demand))


def test_weights_that_do_not_fit_the_candidates_are_refused() -> None:
    topology = circulant(16, 1, 5)
    made = {"method": "balanced", "candidates": {"method": "single-shortest"}}
    routes = routes_from_mapping({**made, "src": [0], "dst": [6], "weights": [[0.5, 0.5]]}, topology)
    with pytest.raises(InvalidInput, match="pair 0->6: 2 weights for 1 candidate"):
        routes.paths(0, 6)
    with pytest.raises(InvalidInput, match="pair 0->6: 2 weights for 1 candidate"):
        all_pair_links(topology, routes)


def test_islands_cannot_be_balanced() -> None:
    links = [Link(*ends, 100e9) for a, b in ((0, 1), (2, 3)) for ends in ((a, b), (b, a))]
    topology = topology_from_links("test", 4, links)
    with pytest.raises(NoRoute, match="no route 0->2"):
        balanced_routes(topology, np.ones((4, 4)), KShortestRoutes(topology))


def test_paths_that_are_kept_are_those_that_would_be_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pairs are many their paths are kept beside the weights; a plan file has the weights only."""
    topology, demand = circulant(12, 1, 5), some_demand(12, 0, 0.4)
    candidates = KShortestRoutes(topology, k=6, slack=1)
    monkeypatch.setattr(balanced, "_PAIRS_TO_KEEP", 1)
    kept = balanced_routes(topology, demand, candidates)
    assert isinstance(kept, BalancedRoutes)
    assert kept.known is not None
    again = routes_from_mapping(json.loads(json.dumps(routes_to_mapping(kept))), topology)
    src, dst = np.nonzero(demand)
    order = np.random.default_rng(1).permutation(len(src))
    for routes in (kept, again):
        listed = [routes.paths(int(src[row]), int(dst[row])) for row in order]
        assert listed == [again.paths(int(src[row]), int(dst[row])) for row in order]
    assert np.array_equal(link_loads(topology, kept, demand), link_loads(topology, again, demand))
    quiet = np.argwhere((demand == 0) & ~np.eye(12, dtype=bool))[0]
    assert kept.paths(*quiet.tolist()) == candidates.paths(*quiet.tolist())


SPREAD = [
    ([5, 0, 4, 1, 2, 6, 7, 3], [12, 4, 5, 1, 4, 5, 14, 6]),
    ([1, 6, 7, 2, 3, 4, 5, 0], [6, 8, 11, 1, 13, 1, 14, 15]),
]
MOORE = [
    ([0, 2, 3, 1], [23, 17, 9, 16]),
    ([3, 2, 0, 1], [13, 3, 28, 29]),
    ([3, 0, 2, 1], [28, 18, 1, 2]),
    ([2, 1, 0, 3], [4, 3, 28, 6]),
]


@pytest.mark.parametrize(("cycles", "fullest_bytes"), [(SPREAD, 1.8738e9), (MOORE, 0.6480e9)])
def test_an_all_to_all_on_lifted_wirings_of_128_servers_fills_all_links_alike(
    cycles: list[tuple[list[int], list[int]]], fullest_bytes: float
) -> None:
    """2**24 bytes a pair, as the all-to-all study sends at batch 2048: the fullest link has no more than the mean."""
    orders, voltages = [order for order, _ in cycles], [of for _, of in cycles]
    topology = lifted_of(128, orders, voltages).topology(100e9)
    demand = 2.0**24 * (1 - np.eye(128))
    routes = balanced_routes(topology, demand, KShortestRoutes(topology, k=8))
    loads, equal = (link_loads(topology, one, demand) for one in (routes, EcmpRoutes(topology)))
    assert loads.max() == pytest.approx(equal.mean(), rel=1e-4)
    assert loads.max() == pytest.approx(fullest_bytes, rel=1e-4)
    assert equal.max() > 1.05 * loads.max()
