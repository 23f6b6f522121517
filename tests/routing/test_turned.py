"""Routes that are turned, against the paths that they list and against routes without any symmetry."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.routing import (
    CoinChangeRoutes,
    KShortestRoutes,
    Routes,
    TurnedRoutes,
    balanced_routes,
    explicit_routes,
    link_loads,
    link_rows,
    max_load_s,
    optimal_max_load,
    pair_links,
    path_arrays,
    routes_from_mapping,
    routes_to_mapping,
    turned_routes,
)
from topoopt.topologies import LiftShape, Topology, circulant, expander, lifted, torus, turn_of

TURNED = ("lifted", "torus")


@cache
def wired(name: str) -> Topology:
    if name == "circulant":
        return circulant(30, (1, 7), 1e9)
    return torus(48, 4e9) if name == "torus" else lifted(LiftShape(64, 4, group=16), seed=1).topology(1e9)


def all_pairs(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    src, dst = np.divmod(np.arange(topology.servers**2), topology.servers)
    return src[src != dst], dst[src != dst]


@pytest.mark.parametrize("name", TURNED)
def test_turned_paths_are_those_of_the_first_servers_moved(name: str) -> None:
    topology = wired(name)
    routes = turned_routes(topology, KShortestRoutes(topology, k=3, slack=1))
    assert isinstance(routes, TurnedRoutes)
    servers, step = topology.servers, routes.step
    for src, dst in ((1, 2), (step + 1, step + 2), (servers - 1, 0)):
        begin = src % step
        first = routes.routes.paths(begin, (dst - src + begin) % servers)
        moved = [tuple((node + src - begin) % servers for node in path.nodes) for path in first]
        assert [path.nodes for path in routes.paths(src, dst)] == moved
        assert all(path.nodes[0] == src and path.nodes[-1] == dst for path in routes.paths(src, dst))


@pytest.mark.parametrize("name", TURNED)
def test_links_of_turned_pairs_are_those_of_their_listed_paths(name: str) -> None:
    topology = wired(name)
    routes = turned_routes(topology, KShortestRoutes(topology, k=3, slack=1))
    src, dst = all_pairs(topology)
    listed = explicit_routes(topology, path_arrays(routes, src, dst).listed())
    demand = np.random.default_rng(2).random((topology.servers, topology.servers))
    np.fill_diagonal(demand, 0)
    turned, plain = (link_loads(topology, one, demand) for one in (routes, listed))
    assert turned == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("name", [*TURNED, "circulant"])
def test_rows_laid_out_are_the_links_of_every_pair(name: str) -> None:
    topology = wired(name)
    routes: Routes = turned_routes(topology, KShortestRoutes(topology, k=2))
    if topology.offsets:
        routes = CoinChangeRoutes(topology)
    src, dst = all_pairs(topology)
    rows = link_rows(topology, routes, src, dst)
    assert len(rows.rows) == turn_of(topology) * (topology.servers - 1)
    plain = pair_links(topology, explicit_routes(topology, path_arrays(routes, src, dst).listed()), src, dst)
    found = rows.laid_out()
    for pair in range(0, len(src), 7):
        here, there = (
            {int(e): float(s) for e, s in zip(one.link[a:b], one.share[a:b], strict=True)}
            for one in (found, plain)
            for a, b in [one.pair_first[pair : pair + 2]]
        )
        assert here == pytest.approx(there)


def test_a_graph_without_turns_keeps_its_routes() -> None:
    topology = expander(32, 4, 1e9)
    routes = KShortestRoutes(topology)
    assert turned_routes(topology, routes) is routes
    src, dst = all_pairs(topology)
    rows = link_rows(topology, routes, src, dst)
    assert rows.is_laid_out
    assert len(rows.rows) == len(src)


@pytest.mark.parametrize("name", TURNED)
def test_balancing_the_first_servers_is_as_good_as_balancing_all(name: str) -> None:
    """Of an all-to-all the best weights are among those that are the same after a turn: the load is convex."""
    topology = wired(name)
    demand = 1e6 * (1 - np.eye(topology.servers))
    candidates = KShortestRoutes(topology, k=8, slack=2)
    step = turn_of(topology, demand)
    few, all_of_them = (balanced_routes(topology, demand, candidates, step=one) for one in (step, None))
    few_s, all_s = (max_load_s(topology, link_loads(topology, one, demand)) for one in (few, all_of_them))
    assert isinstance(few, TurnedRoutes)
    assert few_s <= all_s * 1.002
    best = optimal_max_load(topology, demand, np.zeros(len(topology)))
    assert few_s <= best.lower_bound_s * 1.02


def test_balancing_heeds_what_crosses_the_links_anyway_and_a_demand_of_a_longer_turn() -> None:
    topology, servers = wired("lifted"), wired("lifted").servers
    rng = np.random.default_rng(3)
    rows = rng.random((16, servers)) * 1e6
    demand = np.concatenate([np.roll(rows, shift, axis=1) for shift in range(0, servers, 16)])
    np.fill_diagonal(demand, 0)
    assert turn_of(topology, demand) == 16
    before = np.where(topology.src % 16 < 4, 5e6, 0.0)
    candidates = KShortestRoutes(topology, k=8, slack=2)
    few, whole = (balanced_routes(topology, demand, candidates, before, step=one) for one in (16, None))
    few_s, whole_s = (
        max_load_s(topology, before + link_loads(topology, one, demand)) for one in (few, whole)
    )
    plain_s = max_load_s(
        topology, before + link_loads(topology, turned_routes(topology, KShortestRoutes(topology)), demand)
    )
    assert few_s <= whole_s * 1.005
    assert few_s < plain_s


def test_a_plan_file_holds_turned_routes_in_few_lines() -> None:
    topology = wired("lifted")
    demand = 1e6 * (1 - np.eye(topology.servers))
    routes = balanced_routes(
        topology, demand, KShortestRoutes(topology, k=4, slack=2), step=turn_of(topology)
    )
    written = json.dumps(routes_to_mapping(routes))
    assert routes.method == "balanced"
    assert len(json.loads(written)["routes"]["src"]) <= turn_of(topology) * (topology.servers - 1)
    again = routes_from_mapping(json.loads(written), topology)
    loads = [link_loads(topology, one, demand) for one in (routes, again)]
    assert loads[0] == pytest.approx(loads[1])


def test_links_that_a_turn_does_not_lead_to_each_other_are_refused() -> None:
    grid = wired("torus")
    described = routes_to_mapping(turned_routes(grid, KShortestRoutes(grid)))
    with pytest.raises(InvalidInput, match=r"step 5: the links of 48 servers .* they are after 6"):
        routes_from_mapping({**described, "step": 5}, grid)
    slower = replace(grid, bandwidth_bps=np.where(np.arange(len(grid)) == 0, 5e8, grid.bandwidth_bps))
    with pytest.raises(InvalidInput, match="they are after 48"):
        routes_from_mapping(described, slower)
