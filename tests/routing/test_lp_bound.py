import itertools
from collections.abc import Iterable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.routing.coin_loads import class_bytes
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.finder import find_topology
from topoopt.routing import (
    ROUTING,
    CoinChangeRoutes,
    KShortestRoutes,
    balanced_routes,
    circulant_max_load,
    exact_max_load,
    link_loads,
    make_routes,
    max_load_s,
    optimal_max_load,
)
from topoopt.routing.rerouting import improved_max_load, rerouted_max_load
from topoopt.topologies import Link, Topology, topology_from_arrays, topology_from_links
from topoopt.workloads.traffic import traffic_from_matrix


def wired(servers: int, cables: Iterable[tuple[int, int, float]], nodes: int | None = None) -> Topology:
    """Return a topology of duplex cables of so many Gb/s."""
    links = [Link(*ends, gbps * 1e9) for a, b, gbps in cables for ends in ((a, b), (b, a))]
    return topology_from_links("test", servers, links, nodes)


def circulant(n: int, *strides: int) -> Topology:
    offsets = tuple(sorted({offset for p in strides for offset in (p, n - p)}))
    src = np.repeat(np.arange(n), len(offsets))
    dst = (src + np.tile(offsets, n)) % n
    size = len(src)
    return topology_from_arrays(
        "circulant", n, src, dst, np.full(size, 100e9), np.full(size, 1e-6), None, offsets
    )


def random_graph(n: int, seed: int, bandwidths: tuple[float, ...] = (100.0,)) -> Topology:
    rng = np.random.default_rng(seed)
    ring = {(i, (i + 1) % n) for i in range(n)}
    more = {(int(a), int(b)) for a, b in rng.integers(0, n, (n, 2)) if a != b}
    pairs = sorted({(min(p), max(p)) for p in ring | more})
    return wired(n, [(a, b, float(rng.choice(bandwidths))) for a, b in pairs])


def some_demand(n: int, seed: int, share: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    demand = rng.random((n, n)) * (rng.random((n, n)) < share) * 1e6
    demand[0, 1] = 1e6
    return demand * (1 - np.eye(n))


def optimum_over_all_simple_paths_s(
    topology: Topology, demand: np.ndarray, background: np.ndarray | None = None
) -> float:
    """Solve the path form of the program: every simple path of every pair is a variable."""
    graph = nx.DiGraph((link.src, link.dst) for link in topology)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(demand)]
    second = 8 / topology.bandwidth_bps
    columns, owner = [], []
    for row, (a, b) in enumerate(pairs):
        for path in nx.all_simple_paths(graph, a, b):
            column = np.zeros(len(topology))
            for ends in itertools.pairwise(path):
                column[topology.link_id(*ends)] = demand[a, b] / 1e6
            columns.append(column * second * 1e6)
            owner.append(row)
    busy = np.column_stack([*columns, -np.ones(len(topology))])
    whole = np.zeros((len(pairs), len(owner) + 1))
    whole[owner, np.arange(len(owner))] = 1
    cost = np.zeros(len(owner) + 1)
    cost[-1] = 1
    before = np.zeros(len(topology)) if background is None else -background * second
    unit = 1e-4  # seconds: keeps the solver's numbers near one
    busy[:, :-1] /= unit
    found = linprog(cost, busy, before / unit, whole, np.ones(len(pairs)))
    assert found.fun is not None
    return float(found.fun) * unit


@settings(max_examples=15)
@given(st.integers(3, 6), st.integers(0, 99), st.booleans())
def test_the_flow_program_equals_the_program_over_all_simple_paths(n: int, seed: int, loaded: bool) -> None:
    topology = random_graph(n, seed, (25.0, 100.0))
    demand = some_demand(n, seed, 0.6)
    background = np.random.default_rng(seed).random(len(topology)) * 2e6 if loaded else None
    found = optimal_max_load(topology, demand, background)
    assert found.exact
    assert found.method == "lp"
    wanted = optimum_over_all_simple_paths_s(topology, demand, background)
    assert found.max_load_s == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_rerouting_interval_holds_the_optimum(seed: int) -> None:
    n = 6 + seed
    topology = random_graph(n, seed, (50.0, 100.0))
    demand = some_demand(n, seed, 0.3 + 0.1 * (seed % 4))
    background = np.random.default_rng(seed).random(len(topology)) * 1e6 * (seed % 2)
    exact = optimal_max_load(topology, demand, background)
    upper, lower = rerouted_max_load(topology, demand, background * 8 / topology.bandwidth_bps)
    assert lower <= exact.max_load_s * (1 + 1e-9)
    assert upper >= exact.max_load_s * (1 - 1e-9)
    assert upper / lower < 1.05  # the widest measured over these seeds is below 5 %


@settings(max_examples=15)
@given(st.integers(3, 16), st.integers(0, 999), st.sampled_from(list(ROUTING)))
def test_no_routing_beats_the_bound(n: int, seed: int, name: str) -> None:
    topology = circulant(n, 1, 2) if name == "coin-change" else random_graph(n, seed)
    demand = some_demand(n, seed, 0.5)
    load_s = max_load_s(topology, link_loads(topology, make_routes(name, topology), demand))
    found = optimal_max_load(topology, demand)
    assert found.lower_bound_s <= found.max_load_s
    assert found.lower_bound_s <= load_s * (1 + 1e-9)


def test_a_large_case_is_an_interval_of_a_few_percent() -> None:
    topology = circulant(128, 1, 13)
    demand = some_demand(128, 0)
    found = optimal_max_load(topology, demand)
    assert (found.method, found.exact) == ("rerouting", False)
    # 0.5 % when written; the same sizes always take the same number of sweeps.
    assert 0 <= found.gap < 0.01
    assert found == optimal_max_load(topology, demand)


@pytest.mark.parametrize(("n", "strides"), [(12, (1, 5)), (16, (1, 3)), (15, (1, 4)), (13, (2, 5))])
def test_one_source_speaks_for_all_on_a_circulant(n: int, strides: tuple[int, ...]) -> None:
    topology = circulant(n, *strides)
    by_distance = np.random.default_rng(n).random(n) * 1e6
    by_distance[0] = 0
    demand = by_distance[(np.arange(n) - np.arange(n)[:, None]) % n]
    offset = (topology.dst.astype(int) - topology.src) % n
    background = np.where(offset == strides[0], 3e6, 1e6)
    found = optimal_max_load(topology, demand, background)
    assert (found.method, found.exact) == ("columns", True)
    lopsided = background.copy()
    lopsided[0] *= 1 + 1e-6  # no longer alike, so that the full program has to solve it
    full = optimal_max_load(topology, demand, lopsided)
    assert full.method == "lp"
    assert found.max_load_s == pytest.approx(full.max_load_s, rel=1e-5)


def test_coin_change_reaches_the_optimum_where_its_coins_are_even() -> None:
    topology = circulant(128, 1, 15)
    uniform = np.ones(128)
    uniform[0] = 0
    found = circulant_max_load(topology, uniform)
    # 127 · 5.354 hops over 4 links of 100 Gb/s: 170 bytes on each.
    assert found.max_load_s == pytest.approx(170 * 8 / 100e9)
    assert class_bytes(CoinChangeRoutes(topology), uniform).max() == pytest.approx(170, rel=1e-3)


def test_on_c128_1_13_longer_ways_would_lower_the_fullest_link() -> None:
    uniform = np.ones(128)
    found = circulant_max_load(circulant(128, 1, 13), uniform)
    shortest = class_bytes(CoinChangeRoutes(circulant(128, 1, 13)), uniform).max()
    assert shortest == pytest.approx(188.5, rel=1e-3)
    assert found.lower_bound_s == pytest.approx(181.83 * 8 / 100e9, rel=1e-4)


def test_65536_servers_have_an_exact_bound() -> None:
    found = circulant_max_load(circulant(65_536, 1, 15, 255, 4095), np.ones(65_536))
    assert found.exact


def test_the_bound_of_a_switch_is_the_bytes_of_its_busiest_server() -> None:
    topology = wired(4, [(i, 4, 100.0) for i in range(4)], 5)
    demand = np.array([[0, 5, 5, 5], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], float) * 1e6
    found = optimal_max_load(topology, demand)
    assert found.exact
    assert found.max_load_s == pytest.approx(15e6 * 8 / 100e9)


def test_nothing_to_carry_leaves_the_background() -> None:
    topology = wired(2, [(0, 1, 100.0)])
    found = optimal_max_load(topology, np.eye(2), np.array([1e6, 2e6]))
    assert found.max_load_s == pytest.approx(16e6 / 100e9)
    assert (found.exact, found.gap) == (True, 0)
    assert optimal_max_load(topology, np.zeros((2, 2))).gap == 0


def test_islands_have_no_bound() -> None:
    with pytest.raises(NoRoute, match="no route 0->2"):
        optimal_max_load(wired(4, [(0, 1, 100.0), (2, 3, 100.0)]), np.ones((4, 4)))
    with pytest.raises(NoRoute, match="offsets do not connect"):
        circulant_max_load(circulant(8, 2), np.ones(8))


def test_wrong_shapes_are_refused() -> None:
    topology = wired(3, [(0, 1, 100.0), (1, 2, 100.0)])
    with pytest.raises(InvalidInput, match="expected 3×3"):
        optimal_max_load(topology, np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="expected 4 numbers, one a link"):
        optimal_max_load(topology, np.ones((3, 3)), np.ones(3))
    with pytest.raises(InvalidInput, match="needs a circulant, got test"):
        circulant_max_load(topology, np.ones(3))


def test_the_bound_holds_on_the_sparse_demand_whose_sources_stopped_moving() -> None:
    """A source whose flow only falls, by rounding, once divided by zero (found on this very demand)."""
    rng = np.random.default_rng(0)
    demand = ((rng.random((128, 128)) < 0.3) * rng.integers(1, 10**7, (128, 128))).astype(float)
    fabric = find_topology(traffic_from_matrix(demand), degree=4, bandwidth_bps=100e9)
    found = optimal_max_load(fabric.topology, demand * (1 - np.eye(128)))
    assert 0 < found.lower_bound_s <= found.max_load_s < 1.1 * found.lower_bound_s


@pytest.mark.parametrize("seed", range(6))
def test_the_prices_of_a_routing_bound_the_optimum_and_improve_it(seed: int) -> None:
    """For many servers no program is solved: the interval that begins at a routing holds the program's optimum."""
    topology, demand = random_graph(12, seed, (25.0, 100.0)), some_demand(12, seed, 0.5)
    background = np.random.default_rng(seed).random(len(topology)) * 1e5
    exact = optimal_max_load(topology, demand, background)
    assert exact.exact
    routes = balanced_routes(topology, demand, KShortestRoutes(topology, k=16, slack=3), background)
    loads = link_loads(topology, routes, demand) + background
    at_first = max_load_s(topology, loads)
    background_s, loads_s = (size * 8 / topology.bandwidth_bps for size in (background, loads))
    highest, lowest = improved_max_load(topology, demand, background_s, loads_s)
    assert lowest <= exact.max_load_s * (1 + 1e-9)
    assert exact.max_load_s * (1 - 1e-9) <= highest <= at_first * (1 + 1e-9)
    assert lowest >= 0.6 * exact.max_load_s


@pytest.mark.parametrize(("servers", "known"), [(12, True), (128, False)])
def test_what_only_an_interval_is_known_of_is_not_exact(servers: int, known: bool) -> None:
    topology = random_graph(servers, 3)
    demand = np.random.default_rng(1).random((servers, servers))
    exact = exact_max_load(topology, demand)
    assert (exact is not None) == known
    if exact is not None:
        assert exact == optimal_max_load(topology, demand)
        assert exact.exact
