"""The link paths of many pairs, as the simulators read them."""

import itertools

import numpy as np
import pytest

from topoopt.base.errors import NoRoute
from topoopt.catalog import NETWORKS
from topoopt.routing import BalancedRoutes, EcmpRoutes, Fabric, KShortestRoutes, make_routes, path_table
from topoopt.topologies import Topology, circulant, fat_tree


def on(topology: Topology, method: str) -> Fabric:
    return Fabric("test", topology, make_routes(method, topology), {})


@pytest.mark.parametrize(
    ("family", "method"),
    [
        ("circulant", "coin-change"),
        ("circulant", "single-shortest"),
        ("expander", "k-shortest"),
        ("fat-tree", "ecmp"),
        ("torus", "ecmp"),
    ],
)
def test_rows_are_the_paths_that_the_routes_list(family: str, method: str) -> None:
    if family == "circulant":
        topology = circulant(12, (1, 3), 100e9)
    else:
        topology = NETWORKS[family].wire(12, 4, 100e9, seed=2)
    fabric = on(topology, method)
    src, dst = np.divmod(np.random.default_rng(0).permutation(144)[:50], 12)
    table = path_table(fabric, src, dst)
    assert len(table) == 50
    for k, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        found = []
        for path in range(table.pair_first[k], table.pair_first[k + 1]):
            links = table.link[table.path_first[path] : table.path_first[path + 1]]
            assert (topology.dst[links[:-1]] == topology.src[links[1:]]).all()
            nodes = (a, *topology.dst[links].tolist())
            found.append((nodes, float(table.weight[path])))
        listed = fabric.routes.paths(a, b) if a != b else ()
        assert [nodes for nodes, _ in found] == [path.nodes for path in listed]
        assert [weight for _, weight in found] == pytest.approx([path.weight for path in listed])
    assert (np.diff(table.path_first) == table.hops).all()


def test_arrays_are_of_the_types_that_kernels_take() -> None:
    table = path_table(on(circulant(8, (1, 3), 1e9), "coin-change"), np.array([0, 3]), np.array([2, 3]))
    kinds = [array.dtype for array in (table.pair_first, table.weight, table.path_first, table.link)]
    assert kinds == [np.int64, np.float64, np.int64, np.int32]
    assert all(
        array.flags.c_contiguous for array in (table.pair_first, table.weight, table.path_first, table.link)
    )


def test_a_path_of_weight_zero_is_left_out() -> None:
    topology = circulant(6, (1, 2), 1e9)
    candidates = KShortestRoutes(topology)
    assert [path.nodes for path in candidates.paths(0, 3)] != []
    weights = np.zeros(len(candidates.paths(0, 3)))
    weights[1] = 1.0
    balanced = BalancedRoutes(
        topology, candidates, np.array([0]), np.array([3]), np.array([0, len(weights)]), weights
    )
    table = path_table(Fabric("test", topology, balanced, {}), np.array([0, 0]), np.array([3, 1]))
    assert table.pair_first.tolist() == [0, 1, 2]
    assert table.weight.tolist() == [1.0, 1.0]
    second = candidates.paths(0, 3)[1].nodes
    assert table.link.tolist() == [
        *(topology.link_id(a, b) for a, b in itertools.pairwise(second)),
        topology.link_id(0, 1),
    ]


def test_a_step_without_a_link_is_named() -> None:
    whole, part = circulant(6, (1, 2), 1e9), circulant(6, (1,), 1e9)
    with pytest.raises(NoRoute, match="steps 0->2, where the topology has no link"):
        path_table(Fabric("test", part, EcmpRoutes(whole), {}), np.array([0]), np.array([2]))


def everyone(servers: int) -> tuple[np.ndarray, np.ndarray]:
    src, dst = np.divmod(np.arange(servers**2), servers)
    return src[src != dst], dst[src != dst]


@pytest.mark.parametrize(
    ("fabric", "paths"),
    [
        (on(circulant(128, (1, 11), 1e9), "coin-change"), 29_440),
        # a server has 3 others in its rack, 12 more in its pod by 4 paths each, 112 beyond by 16
        (on(fat_tree(128, 1e9, switches=True), "ecmp"), 128 * (3 + 12 * 4 + 112 * 16)),
    ],
    ids=["direct", "fat-tree"],
)
def test_all_paths_of_all_pairs_are_listed(fabric: Fabric, paths: int) -> None:
    assert len(path_table(fabric, *everyone(128)).weight) == paths
