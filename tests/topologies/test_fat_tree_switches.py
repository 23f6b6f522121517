"""The fat-tree switch by switch."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.routing import EcmpRoutes, Fabric, link_loads, path_table
from topoopt.topologies import Topology, fat_tree, hop_metrics, hops_from


def graph(topology: Topology) -> nx.DiGraph:
    """Return the links with their bandwidth in Gb/s."""
    made = nx.DiGraph()
    made.add_weighted_edges_from(
        zip(
            topology.src.tolist(), topology.dst.tolist(), (topology.bandwidth_bps / 1e9).tolist(), strict=True
        ),
        weight="capacity",
    )
    return made


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_full_tree_has_the_parts_of_the_k_ary_construction(k: int) -> None:
    # k³/4 servers, k²/2 ToRs, k²/2 aggregation and k²/4 core switches of k ports (Al-Fares et al., 2008)
    servers = k**3 // 4
    tree = fat_tree(servers, 100e9, switches=True)
    assert tree.nodes == servers + k**2 // 2 + k**2 // 2 + k**2 // 4
    assert np.bincount(tree.src)[servers:].tolist() == [k] * (tree.nodes - servers)
    assert np.bincount(tree.src)[:servers].tolist() == [1] * servers
    assert len(tree) == 2 * 3 * servers
    assert set(tree.ports.tolist()) == {1}
    assert set(tree.bandwidth_bps.tolist()) == {100e9}


def test_hops_and_paths_follow_rack_and_pod() -> None:
    k = 6
    tree = fat_tree(54, 100e9, switches=True)
    server = np.arange(1, 54)
    hops = hops_from(tree, np.array([0]))[0][server]
    same_rack, same_pod = server // (k // 2) == 0, server // (k**2 // 4) == 0
    assert hops.tolist() == np.where(same_rack, 2, np.where(same_pod, 4, 6)).tolist()
    table = path_table(Fabric("test", tree, EcmpRoutes(tree), {}), 0 * server, server)
    expected = np.where(same_rack, 1, np.where(same_pod, k // 2, (k // 2) ** 2))
    assert np.diff(table.pair_first).tolist() == expected.tolist()
    assert table.hops.tolist() == np.repeat(hops, expected).tolist()
    assert table.weight.tolist() == np.repeat(1 / expected, expected).tolist()


@pytest.mark.parametrize(
    ("servers", "oversubscription"), [(16, 1.0), (16, 2.0), (54, 1.0), (54, 3.0), (54, 2.0)]
)
def test_one_half_of_the_pods_sends_to_the_other_at_full_bisection(
    servers: int, oversubscription: float
) -> None:
    tree = graph(fat_tree(servers, 100e9, oversubscription=oversubscription, switches=True))
    for server in range(servers):
        tree.add_edge(*(("in", server) if server < servers // 2 else (server, "out")), capacity=1e9)
    assert nx.maximum_flow_value(tree, "in", "out") == pytest.approx(servers // 2 * 100 / oversubscription)


@settings(max_examples=25)
@given(st.integers(2, 60), st.sampled_from([1.0, 1.5, 2.0, 3.0]), st.sampled_from([0, 2]), st.integers(0, 9))
def test_trunks_carry_what_the_switches_they_stand_for_carry(
    servers: int, oversubscription: float, larger: int, seed: int
) -> None:
    # Under equal-split ECMP a trunk is as busy as each of its members.
    arity = next(k for k in range(2, 99, 2) if k**3 >= 4 * servers) + larger
    demand = np.random.default_rng(seed).random((servers, servers)) * (1 - np.eye(servers))
    busiest = []
    for switches in (False, True):
        tree = fat_tree(servers, 100e9, 1e-6, oversubscription, arity, switches)
        load_s = link_loads(tree, EcmpRoutes(tree), demand) / tree.bandwidth_bps
        tier = np.digitize(hops_to_servers(tree), [0.5, 1.5, 2.5])
        up, down = tier[tree.src] < tier[tree.dst], tier[tree.src] > tier[tree.dst]
        busiest.append(
            [
                load_s[way & (np.minimum(tier[tree.src], tier[tree.dst]) == t)].max()
                for way in (up, down)
                for t in range(3)
            ]
        )
    assert busiest[0] == pytest.approx(busiest[1])


def hops_to_servers(tree: Topology) -> np.ndarray:
    """Return the tier of every node: hops to the nearest server."""
    return np.where(
        np.arange(tree.nodes) < tree.servers, 0, hops_from(tree, np.arange(tree.servers)).min(axis=0)
    )


def test_half_of_the_uplinks_is_what_two_to_one_leaves() -> None:
    tree = fat_tree(128, 100e9, oversubscription=2.0, switches=True)
    # k = 8: 32 ToRs of 4 servers and 2 uplinks, 2 aggregation switches in each of 8 pods, 2 · 4 core switches
    assert tree.nodes == 128 + 32 + 16 + 8
    assert np.bincount(tree.src)[128:160].tolist() == [6] * 32
    assert set(tree.bandwidth_bps.tolist()) == {100e9}
    assert len(EcmpRoutes(tree).paths(0, 127)) == 2 * 4


def test_a_ratio_that_does_not_divide_slows_the_uplinks() -> None:
    tree = fat_tree(54, 90e9, oversubscription=2.0, switches=True)  # k = 6: 3 servers share 2 uplinks
    up = tree.bandwidth_bps[(tree.src >= 54) & (tree.src < 72) & (tree.dst >= 72)]
    assert set(up.tolist()) == {67.5e9}
    assert len(up) == 18 * 2


@settings(max_examples=40)
@given(st.integers(2, 130), st.sampled_from([0, 2, 4]))
def test_any_number_of_servers_has_spare_ports_and_the_distances_of_its_places(
    servers: int, larger: int
) -> None:
    k = next(k for k in range(2, 99, 2) if k**3 >= 4 * servers) + larger
    tree = fat_tree(servers, 10e9, arity=k, switches=True)
    assert np.bincount(tree.src)[servers:].max() <= k
    last = servers - 1
    expected = 2 if last // (k // 2) == 0 else 4 if last // (k**2 // 4) == 0 else 6
    assert hops_from(tree, np.array([0]))[0, last] == expected
    assert hop_metrics(tree).diameter == expected


@pytest.mark.parametrize(
    ("arity", "message"),
    [
        (5, "arity must be even and at least 2, got 5"),
        (0, "arity must be even and at least 2, got 0"),
        (4, "arity 4 holds 16 servers, got 17; use 6 or more"),
    ],
)
def test_an_arity_that_cannot_be_is_refused(arity: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        fat_tree(17, 10e9, arity=arity)
    assert "\n" not in str(caught.value)
