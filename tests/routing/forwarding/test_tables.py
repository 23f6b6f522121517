"""Forwarding hop by hop goes as the routes say, whatever made them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.routing.forwarding.plans_of_paths import routed_graphs
from topoopt.base.errors import Infeasible, InvalidInput, NoRoute
from topoopt.catalog import NETWORKS
from topoopt.routing import (
    BalancedRoutes,
    EcmpRoutes,
    ExplicitRoutes,
    KShortestRoutes,
    PairLinks,
    Path,
    Routes,
    balanced_routes,
    explicit_routes,
    make_routes,
    pair_links,
)
from topoopt.routing.forwarding import ForwardingTables, follow, forwarding_tables
from topoopt.topologies import WIRING_FAMILIES, Topology, circulant, fat_tree

WIRINGS = {
    "circulant": "duplex",
    "torus": "duplex",
    "expander": "duplex",
    "product": "duplex",
    "kautz": "directed",
}
METHODS = ["coin-change", "k-shortest", "ecmp", "single-shortest", "balanced"]


def wired(family: str, servers: int = 12) -> Topology:
    if family == "circulant":
        return circulant(servers, (1, 5), 100e9)
    return next(iter(WIRING_FAMILIES[family].build(servers, 4, WIRINGS[family]))).topology()


def routed(topology: Topology, method: str) -> Routes:
    if method != "balanced":
        return make_routes(method, topology)
    demand = np.random.default_rng(0).random((topology.servers, topology.servers))
    routes = balanced_routes(topology, demand, KShortestRoutes(topology))
    assert isinstance(routes, BalancedRoutes)
    return routes


def shares(links: PairLinks, row: int) -> dict[int, float]:
    part = slice(*links.pair_first[row : row + 2].tolist())
    return dict(zip(links.link[part].tolist(), links.share[part].tolist(), strict=True))


def mixed(tables: ForwardingTables, links: PairLinks) -> dict[tuple[int, int], dict[int, float]]:
    """Return the links of each pair, its ways put together by their weights."""
    found: dict[tuple[int, int], dict[int, float]] = {}
    for row in range(len(tables.ways)):
        pair = found.setdefault((int(tables.ways.src[row]), int(tables.ways.dst[row])), {})
        for link, share in shares(links, row).items():
            pair[link] = pair.get(link, 0.0) + share * float(tables.ways.weight[row])
    return found


@pytest.mark.parametrize("split", ["hashed", "pinned"])
@pytest.mark.parametrize("family", WIRINGS)
@pytest.mark.parametrize("method", METHODS)
def test_hop_by_hop_every_pair_has_the_links_and_shares_of_its_routes(
    family: str, method: str, split: str
) -> None:
    topology = wired(family)
    if method == "coin-change" and not topology.offsets:
        with pytest.raises(InvalidInput):
            routed(topology, method)
        return
    routes = routed(topology, method)
    tables = forwarding_tables(topology, routes, split)  # type: ignore[arg-type]
    followed = follow(tables)
    assert not len(followed.lost)
    assert not len(followed.circling)
    assert followed.arrived == pytest.approx(1.0)
    found = mixed(tables, followed.links)
    src, dst = (np.array(column) for column in zip(*found, strict=True))
    expected = pair_links(topology, routes, src, dst)
    assert len(found) == topology.servers * (topology.servers - 1)
    for row, links in enumerate(found.values()):
        assert links == pytest.approx(shares(expected, row))


@pytest.mark.parametrize("split", ["hashed", "pinned"])
@settings(max_examples=60)
@given(routed_graphs())
def test_any_paths_of_any_weights_are_followed_and_end(
    split: str, graph: tuple[Topology, ExplicitRoutes]
) -> None:
    topology, routes = graph
    tables = forwarding_tables(topology, routes, split)  # type: ignore[arg-type]
    followed = follow(tables)
    assert not len(followed.lost)
    assert not len(followed.circling)
    assert followed.arrived == pytest.approx(1.0)
    found = mixed(tables, followed.links)
    for (src, dst), links in found.items():
        expected = shares(pair_links(topology, routes, np.array([src]), np.array([dst])), 0)
        if split == "pinned" or not tables.freed_pairs:
            assert links == pytest.approx(expected)
        else:  # without a circle no link has more
            assert all(share <= expected[link] + 1e-9 for link, share in links.items())
            assert _leaves_at(topology, links) == pytest.approx({src: 1.0, dst: -1.0})


def _leaves_at(topology: Topology, links: dict[int, float]) -> dict[int, float]:
    """Return what leaves each server less what comes in, where that is something."""
    net: dict[int, float] = {}
    for link, share in links.items():
        a, b = int(topology.src[link]), int(topology.dst[link])
        net[a], net[b] = net.get(a, 0.0) + share, net.get(b, 0.0) - share
    return {node: amount for node, amount in net.items() if abs(amount) > 1e-9}


@settings(max_examples=30)
@given(routed_graphs())
def test_pinned_ways_are_the_paths_one_by_one(graph: tuple[Topology, ExplicitRoutes]) -> None:
    topology, routes = graph
    tables = forwarding_tables(topology, routes, "pinned")
    followed = follow(tables)
    row = 0
    for src, dst in itertools.permutations(range(topology.servers), 2):
        taken = list[int]()
        for path in routes.paths(src, dst):
            links = topology.link_ids(np.array(path.nodes[:-1]), np.array(path.nodes[1:])).tolist()
            cables = math.lcm(*(int(topology.ports[link]) for link in links))
            for _ in range(cables):
                assert (tables.ways.src[row], tables.ways.dst[row]) == (src, dst)
                taken.append(int(tables.ways.identity[row]))
                assert tables.ways.weight[row] == pytest.approx(path.weight / cables)
                assert shares(followed.links, row) == dict.fromkeys(links, 1.0)
                row += 1
        assert len(set(taken)) == len(taken)
        assert min(taken) == 0  # answers go to the first address of a server
    assert row == len(tables.ways)


@pytest.mark.parametrize(("servers", "strides"), [(12, (1, 5)), (16, (1, 3)), (128, (1, 9))])
def test_pinned_paths_are_numbered_so_that_destinations_suffice_where_that_takes_no_more_addresses(
    servers: int, strides: tuple[int, ...]
) -> None:
    """By coin change a server mixes sources otherwise than its own bytes, but its paths fall into as few trees."""
    topology = circulant(servers, strides, 1e9)
    routes = make_routes("coin-change", topology)
    assert forwarding_tables(topology, routes).kind == "source"
    tables = forwarding_tables(topology, routes, "pinned")
    assert tables.kind == "destination"
    pair = tables.ways.src * servers + tables.ways.dst
    assert tables.identities <= 1 << int(np.bincount(pair).max() - 1).bit_length()


def test_paths_that_are_no_few_trees_are_numbered_pair_by_pair() -> None:
    """To 3 from 0, 1 and 2, each by way of the next: no two go together, and one address a server is all there is."""
    topology = NETWORKS["full-mesh"].wire(4, 3, 1e9, seed=0)
    paths = [Path((0, 1, 3)), Path((1, 2, 3)), Path((2, 0, 3))]
    pairs = np.array([0, 1, 2]), np.array([3, 3, 3])
    tables = forwarding_tables(topology, explicit_routes(topology, paths), "pinned", pairs)
    assert (tables.kind, tables.identities) == ("source", 1)
    assert follow(tables).arrived.tolist() == [1.0, 1.0, 1.0]


def test_circles_that_paths_make_together_are_taken_off() -> None:
    """0→1→2→3 and 0→2→1→3 use the cable 1–2 both ways: half of the bytes would go round."""
    topology = NETWORKS["full-mesh"].wire(4, 3, 1e9, seed=0)
    paths = [Path((0, 1, 2, 3), 0.25), Path((0, 2, 1, 3), 0.75)]
    tables = forwarding_tables(
        topology, explicit_routes(topology, paths), pairs=(np.array([0]), np.array([3]))
    )
    assert tables.freed_pairs == 1
    found = {
        (int(topology.src[link]), int(topology.dst[link])): share
        for link, share in shares(follow(tables).links, 0).items()
    }
    assert found == pytest.approx({(0, 1): 0.25, (0, 2): 0.75, (2, 1): 0.5, (1, 3): 0.75, (2, 3): 0.25})


def test_shortest_paths_split_at_every_hop_need_destination_tables_only() -> None:
    for family in WIRINGS:
        topology = wired(family)
        tables = forwarding_tables(topology, EcmpRoutes(topology))
        assert tables.kind == "destination"
        assert len(tables) == 12 * 11
        assert "destination" in tables.why


def test_a_server_that_relays_in_another_way_than_its_own_has_a_table_of_that_source() -> None:
    topology = circulant(5, (1, 2), 1e9)
    paths = [Path((0, 1, 3)), Path((1, 2, 3))]
    pairs = np.array([0, 1]), np.array([3, 3])
    tables = forwarding_tables(topology, explicit_routes(topology, paths), pairs=pairs)
    assert tables.kind == "source"
    rows = list(zip(tables.node.tolist(), tables.source.tolist(), tables.dst.tolist(), strict=True))
    assert rows == [(0, -1, 3), (1, -1, 3), (1, 0, 3), (2, -1, 3)]
    assert tables.why == (
        "tables by source: 1 of 4 entries are for one source only; first: server 1 sends what is from server 0 for "
        "server 3 another way than its own"
    )
    assert tables.reason("abcde").endswith("first: b sends what is from a for d another way than its own")


def spoiled(tables: ForwardingTables, link: int, to: int) -> ForwardingTables:
    """Return tables with another link in every entry that has one."""
    changed = np.where(tables.link == link, to, tables.link).astype(np.int32)
    return replace(tables, link=changed)


def test_what_circles_or_is_lost_is_told() -> None:
    topology = circulant(5, (1,), 1e9)
    pairs = np.array([0]), np.array([2])
    tables = forwarding_tables(topology, explicit_routes(topology, [Path((0, 1, 2))]), pairs=pairs)
    onward, back = topology.link_id(1, 2), topology.link_id(1, 0)
    followed = follow(spoiled(tables, onward, back))
    assert followed.circling.tolist() == [0]
    assert followed.arrived.tolist() == [0.0]
    wrong_way = follow(spoiled(tables, topology.link_id(0, 1), topology.link_id(0, 4)))
    assert wrong_way.lost.tolist() == [0]
    assert wrong_way.arrived.tolist() == [0.0]
    assert not len(wrong_way.circling)


def test_refusals_name_the_reason() -> None:
    with pytest.raises(Infeasible, match="hang on switches"):
        forwarding_tables(fat_tree(8, 4, 1e9), EcmpRoutes(fat_tree(8, 4, 1e9)))
    topology = wired("circulant")
    with pytest.raises(Infeasible, match="shortest paths and can have no address for each, 1 at most"):
        forwarding_tables(topology, EcmpRoutes(topology, limit=1), "pinned")
    with pytest.raises(InvalidInput, match='paths: unknown name "both"'):
        forwarding_tables(topology, EcmpRoutes(topology), "both")  # type: ignore[arg-type]
    with pytest.raises(NoRoute):
        forwarding_tables(topology, explicit_routes(topology, [Path((0, 1))]))


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_some_pairs_alone_go_as_among_all(seed: int) -> None:
    topology = wired("expander")
    routes = make_routes("k-shortest", topology)
    chosen = np.random.default_rng(seed).choice(144, 20, replace=False)
    src, dst = np.divmod(chosen[chosen // 12 != chosen % 12], 12)
    tables = forwarding_tables(topology, routes, pairs=(src, dst))
    followed, expected = follow(tables), pair_links(topology, routes, src, dst)
    for row in range(len(src)):
        assert shares(followed.links, row) == pytest.approx(shares(expected, row))


def test_a_circulant_of_144_servers_is_forwarded_as_routed() -> None:
    topology = circulant(144, (1, 25, 7), 1e9)
    routes = make_routes("coin-change", topology)
    tables = forwarding_tables(topology, routes)
    followed = follow(tables)
    assert followed.arrived.min() == pytest.approx(1.0)
    expected = pair_links(topology, routes, tables.ways.src, tables.ways.dst)
    ones = np.ones(len(tables.ways))
    assert followed.links.loads(ones, len(topology)) == pytest.approx(expected.loads(ones, len(topology)))
