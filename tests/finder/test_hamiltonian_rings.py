"""Rings over edge-disjoint Hamiltonian cycles."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.catalog import NETWORKS
from topoopt.finder.hamiltonian_rings import _disjoint_cycles, hamiltonian_rings
from topoopt.finder.rings import busiest_share
from topoopt.topologies import Link, Ring, Topology, circulant, expander, topology_from_links, torus

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


def _cables(family: str, servers: int, pairs: Sequence[tuple[int, int]]) -> Topology:
    return topology_from_links(
        family, servers, [Link(*ends, 1e9) for a, b in pairs for ends in ((a, b), (b, a))]
    )


def _all(topology: Topology) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(topology.servers)


def _assert_disjoint_both_ways(topology: Topology, rings: Sequence[Ring], check_ring: RingCheck) -> None:
    for ring in rings:
        check_ring(topology, range(topology.servers), ring)
        assert ring.walk == ring.members
    for there, back in zip(rings[::2], rings[1::2], strict=True):
        assert back.walk == (there.walk[0], *there.walk[:0:-1])
    assert busiest_share(topology, rings) <= 1 / len(rings)


# Kotzig 1973: any product of two cycles is made of two Hamiltonian cycles; Foregger 1978: three of three.
@pytest.mark.parametrize("servers", [9, 12, 15, 16, 20, 35, 64, 81, 100, 128, 144, 256, 289])
def test_torus_is_made_of_two_cycles(servers: int, check_ring: RingCheck) -> None:
    grid = torus(servers, 4e9)
    rings = hamiltonian_rings(grid, _all(grid), 4, seed=0)
    assert len(rings) == 4
    _assert_disjoint_both_ways(grid, rings, check_ring)


@pytest.mark.parametrize("servers", [27, 48, 64, 125, 128])
def test_torus_of_three_dimensions_is_made_of_three_cycles(servers: int, check_ring: RingCheck) -> None:
    grid = torus(servers, 6e9, dimensions=3)
    rings = hamiltonian_rings(grid, _all(grid), 6, seed=0)
    assert len(rings) == 6
    _assert_disjoint_both_ways(grid, rings, check_ring)


def test_ring_of_a_prime_number_of_servers_is_walked_both_ways(check_ring: RingCheck) -> None:
    grid = torus(13, 4e9)
    rings = hamiltonian_rings(grid, _all(grid), 4, seed=0)
    assert len(rings) == 2
    _assert_disjoint_both_ways(grid, rings, check_ring)


# Kim and Wormald 2001: almost surely d/2 cycles. Below some 20 servers chance may leave fewer.
@pytest.mark.parametrize("degree", [3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("servers", [20, 33, 128, 129])
def test_expander_has_half_as_many_cycles_as_ports(servers: int, degree: int, check_ring: RingCheck) -> None:
    for seed in range(3):
        graph = expander(servers, degree, 1e9, seed=seed)
        rings = hamiltonian_rings(graph, _all(graph), degree, seed)
        assert len(rings) == degree - degree % 2
        _assert_disjoint_both_ways(graph, rings, check_ring)


# Walecki: K_n has ⌊(n-1)/2⌋ disjoint Hamiltonian cycles.
@pytest.mark.parametrize("servers", [3, 4, 5, 6, 7, 8, 12, 31, 64])
def test_full_mesh_has_all_its_cycles(servers: int, check_ring: RingCheck) -> None:
    mesh = NETWORKS["full-mesh"].wire(servers, 4, 1e9)
    rings = hamiltonian_rings(mesh, _all(mesh), servers - 1, seed=0)
    assert len(rings) == (servers - 1) // 2 * 2
    _assert_disjoint_both_ways(mesh, rings, check_ring)


@settings(max_examples=60)
@given(st.integers(3, 40), st.integers(2, 7), st.integers(0, 5), st.integers(1, 9))
def test_cycles_are_disjoint_whatever_is_found(
    check_ring: RingCheck, servers: int, degree: int, seed: int, limit: int
) -> None:
    graph = expander(servers, degree, 1e9, seed=seed)
    rings = hamiltonian_rings(graph, _all(graph), limit, seed)
    assert len(rings) <= limit
    if len(rings) % 2:
        check_ring(graph, range(servers), rings[-1])
        assert busiest_share(graph, rings) <= 1 / len(rings)
        rings = rings[:-1]
    if rings:
        _assert_disjoint_both_ways(graph, rings, check_ring)


def test_parallel_cables_carry_a_cycle_each(check_ring: RingCheck) -> None:
    doubled = circulant(9, (1, 1), 1e9)
    rings = hamiltonian_rings(doubled, _all(doubled), 4, seed=0)
    assert len(rings) == 4
    assert (doubled.ports == 2).all()
    _assert_disjoint_both_ways(doubled, rings, check_ring)


def test_cycles_of_a_group_stay_inside_the_group() -> None:
    # Servers 0..11 of the 4 × 4 torus are three rows: rings of four, joined along the columns.
    grid = torus(16, 4e9)
    rings = hamiltonian_rings(grid, np.arange(12), 4, seed=0)
    assert len(rings) == 2
    assert all(sorted(ring.walk) == list(range(12)) for ring in rings)


# The Petersen graph: the smallest cubic graph without a bridge that has no Hamiltonian cycle.
PETERSEN = [(i, (i + 1) % 5) for i in range(5)]
PETERSEN += [(5 + i, 5 + (i + 2) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)]


def test_graph_without_a_hamiltonian_cycle_has_no_rings() -> None:
    graph = _cables("test", 10, PETERSEN)
    assert hamiltonian_rings(graph, _all(graph), 3, seed=0) == ()


def _joined_by_two(size: int) -> Topology:
    """Two full meshes, each without one cable, joined by two: each Hamiltonian cycle must take both."""
    pairs = [(a, b) for a in range(size) for b in range(a) if (a, b) != (1, 0)]
    pairs += [(a + size, b + size) for a, b in pairs]
    return _cables("test", 2 * size, [*pairs, (0, size), (1, size + 1)])


@pytest.mark.parametrize("size", [5, 7, 9])
def test_one_cycle_is_found_where_no_two_are_disjoint(size: int, check_ring: RingCheck) -> None:
    graph = _joined_by_two(size)
    rings = hamiltonian_rings(graph, _all(graph), size - 1, seed=0)
    assert len(rings) == 2
    _assert_disjoint_both_ways(graph, rings, check_ring)


def test_servers_apart_and_single_links_have_no_rings() -> None:
    apart = circulant(12, (2,), 1e9)
    assert hamiltonian_rings(apart, _all(apart), 4, seed=0) == ()
    one_way = circulant(12, (1, 5), 1e9, links="directed")
    assert hamiltonian_rings(one_way, _all(one_way), 4, seed=0) == ()
    assert hamiltonian_rings(torus(16, 4e9), np.array([0, 5, 10]), 4, seed=0) == ()


def test_seed_decides_and_gives_the_same_again() -> None:
    graph = expander(64, 4, 1e9, seed=0)
    first = hamiltonian_rings(graph, _all(graph), 4, seed=3)
    _disjoint_cycles.cache_clear()
    assert hamiltonian_rings(graph, _all(graph), 4, seed=3) == first
    assert hamiltonian_rings(graph, _all(graph), 4, seed=4) != first


def test_the_search_runs_once_for_equal_topologies() -> None:
    _disjoint_cycles.cache_clear()
    for _ in range(3):
        graph = expander(32, 4, 1e9, seed=0)
        hamiltonian_rings(graph, _all(graph), 4, seed=0)
    assert _disjoint_cycles.cache_info().misses == 1
