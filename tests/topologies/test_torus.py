"""The torus family."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.topologies import hop_metrics, torus, torus_shape


@given(st.integers(2, 300), st.integers(1, 3))
def test_shape_holds_exactly_the_servers_and_no_side_of_one(servers: int, dimensions: int) -> None:
    shape = torus_shape(servers, dimensions)
    product = 1
    for side in shape:
        product *= side
    assert product == servers
    assert 1 <= len(shape) <= dimensions
    assert min(shape) > 1


def test_shape_is_the_most_square_one() -> None:
    assert [torus_shape(n, 2) for n in (12, 16, 36, 432)] == [(4, 3), (4, 4), (6, 6), (24, 18)]
    assert [torus_shape(n, 3) for n in (64, 128, 432)] == [(4, 4, 4), (8, 4, 4), (9, 8, 6)]


@given(st.integers(2, 300), st.integers(2, 8))
def test_no_server_has_more_neighbors_than_ports(servers: int, ports: int) -> None:
    built = NETWORKS["torus"].wire(servers, ports, 100e9)
    assert np.bincount(built.src).max() <= ports


def test_ports_decide_the_dimensions() -> None:
    assert [torus_shape(16, 3, ports) for ports in (2, 3, 4)] == [(16,), (8, 2), (4, 4)]
    assert [torus_shape(27, 3, ports) for ports in (5, 6)] == [(9, 3), (3, 3, 3)]


def test_prime_number_of_servers_is_a_ring() -> None:
    ring = torus(13, 40e9)
    assert len(ring) == 26
    assert set(ring.bandwidth_bps.tolist()) == {20e9}
    assert hop_metrics(ring).diameter == 6


def test_bandwidth_of_a_server_is_divided_over_its_neighbors() -> None:
    assert set(torus(16, 40e9).bandwidth_bps.tolist()) == {10e9}
    # 4 × 2: three distinct neighbors.
    eight = torus(8, 30e9)
    assert len(eight) == 24
    assert set(eight.bandwidth_bps.tolist()) == {10e9}


@pytest.mark.parametrize(("servers", "dimensions"), [(12, 2), (20, 2), (24, 3), (8, 3)])
def test_hops_equal_those_of_an_independent_torus(servers: int, dimensions: int) -> None:
    oracle = nx.grid_graph(torus_shape(servers, dimensions), periodic=True)
    metrics = hop_metrics(torus(servers, 40e9, dimensions=dimensions))
    assert metrics.diameter == nx.diameter(oracle)
    assert metrics.average_hops == pytest.approx(nx.average_shortest_path_length(oracle))


def test_four_dimensions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="dimensions must be 1, 2 or 3, got 4"):
        torus(16, 40e9, dimensions=4)


@pytest.mark.parametrize("a", [2, 3, 4, 7])
def test_a_twist_makes_the_longest_way_of_a_rectangle_that_of_its_short_side(a: int) -> None:
    # The diameter of the rectangular twisted torus 2a × a is a (Cámara et al., 2010, from memory of the
    # paper, unconfirmed); that of the plain one is a + ⌊a/2⌋.
    twisted = torus(2 * a * a, 40e9, dimensions=2, twisted=True)
    assert hop_metrics(twisted).diameter == a
    plain = nx.grid_graph((2 * a, a), periodic=True)
    assert nx.diameter(plain) == a + a // 2
    assert set(twisted.bandwidth_bps.tolist()) == {10e9}
    assert set(np.bincount(twisted.src).tolist()) == {4}


def test_a_twist_is_walked_back_the_way_it_was_walked() -> None:
    twisted = torus(54, 60e9, dimensions=3, twisted=True)  # 6 × 3 × 3
    assert all(twisted.link_id(link.dst, link.src) >= 0 for link in twisted)
    at = {(x, y, z): 9 * x + 3 * y + z for x in range(6) for y in range(3) for z in range(3)}
    assert twisted.link_id(at[1, 2, 1], at[4, 0, 1]) >= 0
    assert twisted.link_id(at[1, 1, 2], at[4, 1, 0]) >= 0
    assert twisted.link_id(at[5, 1, 1], at[0, 1, 1]) >= 0
    assert twisted.link_id(at[1, 2, 1], at[1, 0, 1]) < 0


def test_only_grids_twice_as_long_as_wide_are_twisted() -> None:
    with pytest.raises(InvalidInput, match=r"a twisted one needs 2a² servers and 4 ports .* got 12 servers"):
        torus(12, 40e9, twisted=True)
