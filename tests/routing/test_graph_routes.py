from collections.abc import Iterable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import (
    ROUTING,
    EcmpRoutes,
    KShortestRoutes,
    Routes,
    SingleShortestRoutes,
    all_pair_links,
    link_loads,
    make_routes,
    pair_links,
)
from topoopt.topologies import Link, Topology, topology_from_links

GENERAL = [name for name in ROUTING if name != "coin-change"]


def wired(servers: int, cables: Iterable[tuple[int, int]], nodes: int | None = None) -> Topology:
    """Return a topology of duplex 100 Gb/s cables."""
    links = [Link(*ends, 100e9) for a, b in cables for ends in ((a, b), (b, a))]
    return topology_from_links("test", servers, links, nodes)


@st.composite
def graphs(draw: st.DrawFn) -> Topology:
    """A path through all nodes plus a few cables; some of the last nodes are switches."""
    nodes = draw(st.integers(3, 9))
    node = st.integers(0, nodes - 1)
    extra = draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=10))
    servers = draw(st.integers(2, nodes))
    return wired(servers, {(i, i + 1) for i in range(nodes - 1)} | {(min(p), max(p)) for p in extra}, nodes)


def digraph(topology: Topology) -> nx.DiGraph:
    return nx.DiGraph((link.src, link.dst) for link in topology)


def loads_by_walking(topology: Topology, routes: Routes, demand: np.ndarray) -> np.ndarray:
    load = np.zeros(len(topology))
    for src, dst in np.argwhere(demand):
        for path in routes.paths(int(src), int(dst)):
            for a, b in zip(path.nodes, path.nodes[1:], strict=False):
                load[topology.link_id(a, b)] += demand[src, dst] * path.weight
    return load


@settings(max_examples=40)
@given(graphs(), st.sampled_from(GENERAL), st.integers(0, 5))
def test_paths_are_shortest_and_link_shares_tell_the_same(topology: Topology, name: str, seed: int) -> None:
    routes = make_routes(name, topology, seed)
    assert routes.method == name
    graph, n = digraph(topology), topology.servers
    for src in range(n):
        for dst in range(n):
            if src != dst:
                paths = routes.paths(src, dst)
                shortest = {tuple(path) for path in nx.all_shortest_paths(graph, src, dst)}
                assert {path.nodes for path in paths} <= shortest
                assert len({path.nodes for path in paths}) == len(paths)
                assert sum(path.weight for path in paths) == pytest.approx(1)
                if name == "k-shortest":
                    assert len(paths) == min(4, len(shortest))
                if name == "ecmp":
                    assert len(paths) == min(64, len(shortest))
                if name == "single-shortest":
                    assert len(paths) == 1
    demand = np.random.default_rng(seed).random((n, n)) * (1 - np.eye(n))
    assert np.allclose(link_loads(topology, routes, demand), loads_by_walking(topology, routes, demand))
    every = all_pair_links(topology, routes)
    assert len(every) == n * n
    assert np.allclose(every.loads(demand.ravel(), len(topology)), link_loads(topology, routes, demand))
    assert (np.diff(every.pair_first)[:: n + 1] == 0).all()


@settings(max_examples=40)
@given(graphs(), st.integers(1, 6), st.integers(0, 3))
def test_slack_admits_the_next_longer_simple_paths_in_order(topology: Topology, k: int, slack: int) -> None:
    routes = KShortestRoutes(topology, k, slack, "inverse-length")
    graph = digraph(topology)
    src, dst = 0, topology.servers - 1
    everything = [tuple(path) for path in nx.all_simple_paths(graph, src, dst)]
    lengths = sorted(len(path) - 1 for path in everything)
    allowed = [length for length in lengths if length <= lengths[0] + slack][:k]
    paths = routes.paths(src, dst)
    assert [path.hops for path in paths] == allowed
    assert {path.nodes for path in paths} <= set(everything)
    assert len({path.nodes for path in paths}) == len(paths)
    inverse = np.array([1 / path.hops for path in paths])
    assert np.allclose([path.weight for path in paths], inverse / inverse.sum())


def test_ecmp_splits_at_each_hop_and_not_by_path() -> None:
    # Two next hops, one of which has three ways on: 1/2 and 3 times 1/6, not 4 times 1/4.
    topology = wired(2, [(0, 2), (0, 3), (2, 4), (3, 5), (3, 6), (3, 7), *((i, 1) for i in range(4, 8))], 8)
    weights = {path.nodes[2]: path.weight for path in EcmpRoutes(topology).paths(0, 1)}
    assert weights == pytest.approx({4: 1 / 2, 5: 1 / 6, 6: 1 / 6, 7: 1 / 6})
    shares = EcmpRoutes(topology).pair_links(np.array([0]), np.array([1]))
    assert shares.share[shares.link == topology.link_id(0, 2)] == [0.5]


def test_ecmp_counts_every_port_of_a_fat_link() -> None:
    topology = wired(2, [(0, 2), (0, 2), (0, 3), (2, 1), (3, 1)], 4)
    weights = {path.nodes[1]: path.weight for path in EcmpRoutes(topology).paths(0, 1)}
    assert weights == pytest.approx({2: 2 / 3, 3: 1 / 3})
    shares = EcmpRoutes(topology).pair_links(np.array([0]), np.array([1]))
    load = shares.loads(np.ones(1), len(topology))
    assert load[[topology.link_id(0, 2), topology.link_id(3, 1)]] == pytest.approx([2 / 3, 1 / 3])


def test_ecmp_lists_no_more_paths_than_its_limit() -> None:
    topology = wired(2, [(0, m) for m in range(2, 12)] + [(m, 1) for m in range(2, 12)], 12)
    paths = EcmpRoutes(topology, limit=4).paths(0, 1)
    assert [path.weight for path in paths] == pytest.approx([1 / 4] * 4)


def test_k_shortest_spreads_its_choice_over_the_first_hops() -> None:
    # 16 equal ways between each of 40 server pairs; a choice by lowest id would use four middles only.
    servers, middles = 40, range(40, 56)
    topology = wired(servers, [(s, m) for s in range(servers) for m in middles], 56)
    routes = KShortestRoutes(topology)
    used = {path.nodes[1] for dst in range(1, servers) for path in routes.paths(0, dst)}
    assert used == set(middles)
    assert [routes.paths(0, 7)] == [KShortestRoutes(topology).paths(0, 7)]


def test_single_shortest_takes_the_lowest_neighbor_first() -> None:
    topology = wired(6, [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)])
    routes = SingleShortestRoutes(topology)
    assert routes.paths(0, 3)[0].nodes == (0, 1, 3)
    assert routes.paths(0, 5)[0].nodes == (0, 1, 3, 5)  # 3 was discovered before 4


def test_servers_behind_one_switch_have_two_hops() -> None:
    topology = wired(4, [(i, 4) for i in range(4)], 5)
    for name in GENERAL:
        routes = make_routes(name, topology, 0)
        assert routes.paths(2, 0)[0].nodes == (2, 4, 0)
        assert all_pair_links(topology, routes).mean_hops().reshape(4, 4)[1].tolist() == [2, 0, 2, 2]


@pytest.mark.parametrize("name", GENERAL)
def test_islands_are_named(name: str) -> None:
    topology = wired(4, [(0, 1), (2, 3)])
    routes = make_routes(name, topology, 0)
    with pytest.raises(NoRoute, match="no route 0->2: the topology does not connect them"):
        routes.paths(0, 2)
    with pytest.raises(NoRoute, match="no route 0->2"):
        all_pair_links(topology, routes)


def test_an_unknown_method_is_offered_its_neighbors() -> None:
    with pytest.raises(InvalidInput, match="did you mean k-shortest"):
        make_routes("kshortest", wired(2, [(0, 1)]), 0)


@pytest.mark.parametrize(("k", "slack", "word"), [(0, 0, "k must"), (1, -1, "slack must")])
def test_senseless_limits_are_refused(k: int, slack: int, word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        KShortestRoutes(wired(2, [(0, 1)]), k, slack)


def test_routes_of_a_part_can_be_laid_on_the_whole() -> None:
    part = wired(4, [(0, 1), (1, 2), (2, 3)])
    whole = wired(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    rows = pair_links(whole, SingleShortestRoutes(part), np.array([0, 1]), np.array([3, 1]))
    assert rows.link.tolist() == [whole.link_id(0, 1), whole.link_id(1, 2), whole.link_id(2, 3)]
    assert rows.pair_first.tolist() == [0, 3, 3]
    with pytest.raises(NoRoute, match="steps 0->3, where the topology has no link"):
        pair_links(part, SingleShortestRoutes(whole), np.array([0]), np.array([3]))


def test_a_demand_of_the_wrong_size_is_refused() -> None:
    topology = wired(3, [(0, 1), (1, 2)])
    with pytest.raises(InvalidInput, match="expected 3×3 for 3 servers"):
        link_loads(topology, SingleShortestRoutes(topology), np.ones((2, 2)))
