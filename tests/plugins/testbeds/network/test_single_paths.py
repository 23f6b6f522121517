"""One path a pair, loads even; and the kernel's tables for any such paths lead along them."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.finder.rewiring import wire
from topoopt.plugins.testbeds.network.layout import Layout, direct_layout, single_paths
from topoopt.routing import ExplicitRoutes, Fabric, Path, Routes, explicit_routes, make_routes
from topoopt.topologies import Topology, circulant


def loads(topology: Topology, routes: Routes) -> list[float]:
    """Return how many pairs each link carries."""
    load = np.zeros(len(topology))
    for pair in permutations(range(topology.servers), 2):
        for path in routes.paths(*pair):
            for link in pairwise(path.nodes):
                load[topology.link_id(*link)] += path.weight
    return [float(one) for one in load]


def drawn_paths(topology: Topology, seed: int) -> ExplicitRoutes:
    """Return one of each pair's shortest paths, drawn: pairs that meet at a server may part again."""
    rng = np.random.default_rng(seed)
    several = make_routes("k-shortest", topology)
    options = [several.paths(*pair) for pair in permutations(range(topology.servers), 2)]
    return explicit_routes(topology, (Path(some[rng.integers(len(some))].nodes) for some in options))


def laid(topology: Topology, routes: Routes) -> Layout:
    degree = int(np.bincount(topology.src, topology.ports).max())
    return direct_layout(Fabric("f", topology, routes, {}), wire(topology, degree, "duplex"), 1e9)


def walk(layout: Layout, src: int, dst: int) -> tuple[int, ...]:
    table = {(route.server, route.destination, route.source): route.ports for route in layout.routes}
    nodes = [src]
    while nodes[-1] != dst:
        at = nodes[-1]
        ports = table.get((at, dst, src)) or table[at, dst, None]
        nodes.append(ports[0][1].node)
        assert len(nodes) < 99
    return tuple(nodes)


@pytest.mark.parametrize(
    ("servers", "strides", "most"), [(12, (1, 5), 6), (8, (1, 3), 4), (16, (1, 7), 10), (12, (1, 2), 8)]
)
@pytest.mark.parametrize("method", ["coin-change", "ecmp"])
def test_loads_are_nearly_those_of_divided_paths(
    servers: int, strides: tuple[int, ...], most: int, method: str
) -> None:
    topology = circulant(servers, strides, 25e9)
    routes = make_routes(method, topology)
    assert max(loads(topology, routes)) <= max(loads(topology, single_paths(topology, routes))) <= most


@pytest.mark.parametrize("method", ["coin-change", "ecmp", "k-shortest"])
def test_every_path_is_one_of_the_pairs_own(method: str) -> None:
    topology = circulant(12, (1, 5), 25e9)
    routes = make_routes(method, topology)
    for pair, (path,) in single_paths(topology, routes).table.items():
        assert path.weight == 1
        assert path.nodes in {one.nodes for one in routes.paths(*pair)}


def test_a_link_twice_as_fast_is_given_twice_the_pairs() -> None:
    """Two ways from 0 to 1 and back: over 2, and over 3 with twice the bandwidth; three pairs of twins take them."""
    ends = [(a, b) for a in (0, 1) for b in (2, 3)]
    src, dst = (np.array(side, np.int32) for side in zip(*ends, *((b, a) for a, b in ends), strict=True))
    order = np.lexsort((dst, src))
    fast = np.isin(src, (3,)) | np.isin(dst, (3,))
    topology = Topology(
        "diamond",
        4,
        4,
        src[order],
        dst[order],
        np.ones(8, np.int32),
        np.where(fast, 2e9, 1e9)[order],
        np.zeros(8),
    )
    routes = single_paths(topology, make_routes("ecmp", topology))
    assert routes.paths(0, 1)[0].nodes == (0, 3, 1)
    assert routes.paths(1, 0)[0].nodes == (1, 3, 0)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), servers=st.sampled_from([6, 7, 9]))
def test_tables_lead_along_the_paths_whatever_these_are(seed: int, servers: int) -> None:
    topology = circulant(servers, (1, 2), 1e9)
    routes = drawn_paths(topology, seed)
    layout = laid(topology, routes)
    for pair, (path,) in routes.table.items():
        assert walk(layout, *pair) == path.nodes


def test_one_breadth_first_tree_a_destination_needs_no_sources() -> None:
    topology = circulant(12, (1, 5), 25e9)
    layout = laid(topology, make_routes("single-shortest", topology))
    assert layout.forwarding == "destination"
    assert len(layout.routes) == 12 * 11
    assert {route.source for route in layout.routes} == {None}
