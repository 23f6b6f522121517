"""Lifted unions of Hamiltonian cycles: known ones, and what the search keeps."""

from itertools import pairwise

import numpy as np
import pytest
import rustworkx
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from topoopt.topologies import DirectWiring, LiftShape, lifted, lifted_of, wiring_hops

Rows = tuple[tuple[int, ...], ...]
Recipe = tuple[Rows, Rows]
BEST_OF_128: Recipe = (
    ((0, 2, 3, 1), (3, 2, 0, 1), (3, 0, 2, 1), (2, 1, 0, 3)),
    ((23, 17, 9, 16), (13, 3, 28, 29), (28, 18, 1, 2), (4, 3, 28, 6)),
)
FOUR_PORTS: Recipe = (
    ((5, 0, 4, 1, 2, 6, 7, 3), (1, 6, 7, 2, 3, 4, 5, 0)),
    ((12, 4, 5, 1, 4, 5, 14, 6), (6, 8, 11, 1, 13, 1, 14, 15)),
)


def matrix(wiring: DirectWiring) -> csr_array:
    src, dst = wiring.arcs
    return csr_array((np.ones(len(src)), (src, dst)), shape=(wiring.servers, wiring.servers))


def test_of_128_servers_and_8_ports_one_reaches_moores_bound_from_every_server() -> None:
    hops = wiring_hops(lifted_of(128, *BEST_OF_128))
    assert hops.histogram == (0, 8 * 128, 56 * 128, 63 * 128)


def test_of_128_servers_and_4_ports_one_has_few_hops_and_even_loads() -> None:
    hops = wiring_hops(lifted_of(128, *FOUR_PORTS))
    assert (round(hops.average_hops, 6), hops.diameter) == (3.517717, 5)


@pytest.mark.parametrize("recipe", [BEST_OF_128, FOUR_PORTS])
def test_hops_are_those_of_two_other_programs(recipe: Recipe) -> None:
    wiring = lifted_of(128, *recipe)
    hops = wiring_hops(wiring)
    plain = shortest_path(matrix(wiring), unweighted=True)
    assert plain.sum() / (128 * 127) == pytest.approx(hops.average_hops, abs=1e-12)
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(128))
    src, dst = wiring.arcs
    graph.add_edges_from_no_data(list(zip(src.tolist(), dst.tolist(), strict=True)))
    other = rustworkx.distance_matrix(graph)
    assert other.max() == hops.diameter
    assert np.bincount(other.astype(int).ravel())[1:].tolist() == list(hops.histogram[1:])


@pytest.mark.parametrize(
    "shape",
    [
        LiftShape(64, 4, group=8),
        LiftShape(60, 6, group=10),
        LiftShape(37, 4),
        LiftShape(48, 3, "directed", group=6),
        LiftShape(24, 2, group=4),
    ],
)
@pytest.mark.parametrize("search_s", [0.0, 0.05])
def test_every_factor_is_one_ring_of_all_servers(shape: LiftShape, search_s: float) -> None:
    wiring = lifted(shape, 1, search_s)
    links = set(zip(*(end.tolist() for end in wiring.arcs), strict=True))
    walked: list[tuple[int, int]] = []
    assert len(wiring.rings) == shape.cycles
    for ring in wiring.rings:
        walk = ring.walk.tolist()
        assert sorted(walk) == list(range(shape.servers))
        steps = list(pairwise([*walk, walk[0]]))
        walked += steps + ([(b, a) for a, b in steps] if shape.links == "duplex" else [])
    assert set(walked) == links
    assert len(walked) == shape.servers * shape.degree
    assert wiring.idle_interfaces == 0


@pytest.mark.parametrize("servers", [16, 128])
def test_of_an_odd_degree_six_half_rate_rings_load_every_arc_exactly_twice(servers: int) -> None:
    wiring = lifted(LiftShape(servers, 3), 0, 0.2)
    load = np.zeros((servers, servers), int)
    for ring in wiring.rings:
        walk = ring.walk
        assert sorted(walk.tolist()) == list(range(servers))
        np.add.at(load, (walk, np.roll(walk, -1)), 1)
        np.add.at(load, (np.roll(walk, -1), walk), 1)
    src, dst = wiring.arcs
    assert load[src, dst].tolist() == [2] * (3 * servers)
    assert load.sum() == 2 * 3 * servers
    assert sum(ring.share for ring in wiring.rings) * 2 == 3


def test_five_ports_are_a_ring_and_three_matchings() -> None:
    wiring = lifted(LiftShape(20, 5), 0, 0.1)
    assert [ring.share for ring in wiring.rings] == [0.5, 0.5, 0.5, 1.0]
    assert wiring.idle_interfaces == 0


def test_the_symmetry_is_that_of_the_links() -> None:
    wiring = lifted(LiftShape(96, 4, group=12), 3, 0.05)
    src, dst = wiring.arcs
    turned = {((a + 8) % 96, (b + 8) % 96) for a, b in zip(src.tolist(), dst.tolist(), strict=True)}
    assert turned == set(zip(src.tolist(), dst.tolist(), strict=True))


def test_a_factor_may_be_rings_of_the_groups() -> None:
    wiring = lifted(LiftShape(64, 4, ring_group=8), 0, 0.3)
    src, dst = wiring.arcs
    assert len(wiring.rings) == 1
    assert int((src // 8 == dst // 8).sum()) >= 2 * 64
    assert wiring_hops(wiring).average_hops < 3.1  # two cycles of 64 at random: 3.2


def test_equal_seeds_give_equal_wirings_and_others_not() -> None:
    one, again, other = (lifted(LiftShape(64, 4, group=8), seed, 0.05) for seed in (5, 5, 6))
    assert one.recipe == again.recipe != other.recipe


def test_the_search_finds_fewer_hops_than_it_began_with() -> None:
    begun, found = (lifted(LiftShape(128, 4, group=16), 0, seconds) for seconds in (0.0, 0.2))
    assert wiring_hops(found).average_hops < 3.56 < wiring_hops(begun).average_hops


def test_a_search_ends_where_moores_bound_is_reached() -> None:
    spent_s: list[float] = []
    full_mesh = lifted(LiftShape(5, 4, "duplex", 5), 0, 5_000.0, spent_s.append)
    assert wiring_hops(full_mesh).average_hops == 1.0
    assert sum(spent_s) < 10  # of work, not of a clock
