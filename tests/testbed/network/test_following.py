"""By destination where that follows the routes, else by source; walked hop by hop it is always the plan's path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.routing import CoinChangeRoutes, ExplicitRoutes, Path, Routes, explicit_routes, make_routes
from topoopt.testbed.network.following import Hop, followed, single_paths
from topoopt.topology import Topology, circulant


def walk(hops: tuple[Hop, ...], src: int, dst: int) -> tuple[int, ...]:
    table = {(hop.server, hop.destination, hop.source): hop.neighbor for hop in hops}
    nodes = [src]
    while nodes[-1] != dst:
        at = nodes[-1]
        source = None if at == src else src
        nodes.append(table[at, dst, source] if (at, dst, source) in table else table[at, dst, None])
        assert len(nodes) < 99
    return tuple(nodes)


def shuffled_routes(topology: Topology, seed: int) -> ExplicitRoutes:
    """Return a shortest path a pair, drawn: pairs that meet at a server may part again."""
    rng = np.random.default_rng(seed)
    all_paths = make_routes("k-shortest", topology)
    paths = []
    for src in range(topology.servers):
        for dst in range(topology.servers):
            if src != dst:
                some = all_paths.paths(src, dst)
                paths.append(Path(some[rng.integers(len(some))].nodes))
    return explicit_routes(topology, paths)


def test_one_breadth_first_tree_a_destination_needs_no_sources() -> None:
    topology = circulant(12, (1, 5), 25e9)
    kind, _, hops = followed(topology, make_routes("single-shortest", topology))
    assert kind == "destination"
    assert len(hops) == 12 * 11


def test_two_sources_that_part_at_a_server_are_told_apart() -> None:
    topology = circulant(4, (1,), 1e9)
    rows: dict[tuple[int, int], tuple[int, ...]] = {
        (src, dst): (src, (src + 1) % 4, dst) for src in range(4) for dst in range(4) if (dst - src) % 4 == 2
    }
    rows |= {(src, dst): (src, dst) for src in range(4) for dst in range(4) if (dst - src) % 4 in (1, 3)}
    rows[0, 3] = (0, 1, 2, 3)
    rows[1, 3] = (1, 0, 3)
    kind, why, hops = followed(topology, explicit_routes(topology, map(Path, rows.values())))
    assert kind == "source"
    assert "server 0 hands packets to 3 to 2 neighbors" in why
    assert {pair: walk(hops, *pair) for pair in rows} == rows


@given(seed=st.integers(0, 1000), servers=st.sampled_from([6, 7, 9]))
def test_packets_go_by_the_routes_whatever_these_are(seed: int, servers: int) -> None:
    topology = circulant(servers, (1, 2), 1e9)
    routes = shuffled_routes(topology, seed)
    _, _, hops = followed(topology, routes)
    for (src, dst), (path,) in routes.table.items():
        assert walk(hops, src, dst) == path.nodes


@pytest.mark.parametrize("make", [CoinChangeRoutes, lambda topology: make_routes("ecmp", topology)])
def test_of_several_paths_the_one_of_most_weight_is_taken(make: type[Routes]) -> None:
    topology = circulant(12, (1, 5), 25e9)
    routes = make(topology)  # type: ignore[call-arg]
    single = single_paths(topology, routes)
    for (src, dst), (path,) in single.table.items():
        assert path.weight == 1
        weights = {one.nodes: one.weight for one in routes.paths(src, dst)}
        assert weights[path.nodes] == max(weights.values())
