"""Directed Hamiltonian cycles: as many as signs allow, over links that are there, none of them twice."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.finder import lay_rings, one_way_rings
from topoopt.routing import EcmpRoutes
from topoopt.topologies import WIRING_FAMILIES, DirectWiring, Ring, Topology, lifted_of

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


def _members(family: str, servers: int, degree: int) -> Iterator[DirectWiring]:
    return WIRING_FAMILIES[family].build(servers, degree, "directed")


def _union_of_cycles(servers: int, cycles: int, seed: int) -> Topology:
    """Return a topology of directed Hamiltonian cycles at random."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(servers).tolist() for _ in range(cycles)]
    return lifted_of(servers, orders, [[0] * servers] * cycles, "directed").topology()


def _check(topology: Topology, rings: Sequence[Ring], check_ring: RingCheck) -> None:
    for ring in rings:
        check_ring(topology, range(topology.servers), ring)
    crossed = np.concatenate([topology.link_ids(*ring.edges()) for ring in rings])
    assert (np.bincount(crossed, minlength=len(topology)) <= topology.ports).all()


@pytest.mark.parametrize(
    ("family", "servers", "degree", "rings"),
    [
        # Where n is a multiple of d the links are Latin squares of order d, and one too few where signs differ.
        ("kautz", 12, 3, 3),
        ("kautz", 64, 4, 3),
        ("kautz", 128, 4, 3),
        ("kautz", 127, 4, 4),
        ("de-bruijn", 128, 4, 3),
        ("line-graph", 128, 4, 4),
        ("line-graph", 32, 2, 1),
    ],
)
def test_families_of_links_one_way_have_rings(
    family: str, servers: int, degree: int, rings: int, check_ring: RingCheck
) -> None:
    for wiring in _members(family, servers, degree):
        topology = wiring.topology()
        found = one_way_rings(topology, np.arange(servers), degree, 0)
        assert len(found) >= rings
        _check(topology, found, check_ring)


@settings(max_examples=30)
@given(st.integers(3, 24), st.integers(1, 4), st.integers(0, 1000))
def test_unions_of_cycles_have_at_least_one_too_few(
    check_ring: RingCheck, servers: int, cycles: int, seed: int
) -> None:
    topology = _union_of_cycles(servers, cycles, seed)
    found = one_way_rings(topology, np.arange(servers), cycles, 0)
    _check(topology, found, check_ring)
    assert len(found) >= max(1, cycles - 1)


@pytest.mark.parametrize(("servers", "cycles", "seed"), [(16, 3, 800), (16, 3, 1951), (24, 3, 58)])
def test_graphs_from_which_few_starts_lead_to_rings_have_them(
    check_ring: RingCheck, servers: int, cycles: int, seed: int
) -> None:
    topology = _union_of_cycles(servers, cycles, seed)
    found = one_way_rings(topology, np.arange(servers), cycles, 0)
    _check(topology, found, check_ring)
    assert len(found) >= cycles - 1


def test_two_links_out_of_four_servers_by_hand() -> None:
    # K4 without U-turns has no room for choice: 0->1->2->3->0 and 0->3->2->1->0 are all the links there are.
    topology = lifted_of(4, [[0, 1, 2, 3], [3, 2, 1, 0]], [[0] * 4] * 2, "directed").topology()
    found = one_way_rings(topology, np.arange(4), 2, 0)
    assert {ring.members for ring in found} == {(0, 1, 2, 3), (0, 3, 2, 1)}


def test_where_there_is_none_there_is_none() -> None:
    wiring = next(_members("kautz", 12, 3))
    assert one_way_rings(wiring.topology(), np.arange(5), 3, 0) == ()


def test_a_plan_on_kautz_links_has_rings_over_direct_links(check_ring: RingCheck) -> None:
    topology = next(_members("kautz", 128, 4)).topology(100e9)
    rings = lay_rings(topology, EcmpRoutes(topology), range(128), 4)
    assert len(rings) == 3
    _check(topology, rings, check_ring)
