"""Laying the rings of any group on any fabric."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.catalog import NETWORKS
from topoopt.finder import FabricRequest, build_fabric, coin_patterns, lay_rings
from topoopt.finder.hamiltonian_rings import hamiltonian_rings
from topoopt.finder.rings import busiest_share, direct_rings, member_order_ring, tours
from topoopt.routing import ROUTING, Routes
from topoopt.topologies import Ring, Topology, circulant, expander

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


@pytest.fixture(scope="module")
def testbed() -> tuple[Topology, Routes]:
    """The authors' testbed: 12 servers, ±1 and ±5."""
    topology = circulant(12, (1, 5), 25e9)
    return topology, ROUTING["coin-change"](topology, 0)


def _groups(servers: int, size: int) -> list[tuple[int, ...]]:
    step = servers // size
    return [tuple(range(start, servers, step)) for start in range(step)]


# Hops of one logical edge in the authors' table of the testbed (spec section 5):
# 12: [1]; 6: [1,1]; 4: [11,5,11]; 3: [5,11]; 2: [5,1].
@pytest.mark.parametrize(("size", "hops"), [(12, 1), (6, 2), (4, 3), (3, 2), (2, 2)])
def test_testbed_sub_groups_take_as_few_hops_as_the_authors(
    testbed: tuple[Topology, Routes], check_ring: RingCheck, size: int, hops: int
) -> None:
    topology, routes = testbed
    for group in _groups(12, size):
        rings = lay_rings(topology, routes, group, 4)
        assert {ring.hops for ring in rings} == {hops * size}
        for ring in rings:
            check_ring(topology, group, ring)


def test_testbed_spanning_group_has_a_ring_on_every_interface(testbed: tuple[Topology, Routes]) -> None:
    assert [ring.stride for ring in lay_rings(*testbed, range(12), 4)] == [1, 5, 7, 11]


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_two_rings_are_a_path_and_its_negation(size: int) -> None:
    (p, path), (q, negation) = coin_patterns(12, (1, 5, 7, 11), size, 2)
    assert (p + q) % size == 0
    assert sorted((12 - coin) % 12 for coin in path) == list(negation)


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("strides", [(1, 13), (1, 15), (1, 3, 11, 37)])
def test_copies_of_a_group_load_all_links_of_an_offset_alike(size: int, strides: tuple[int, ...]) -> None:
    topology = circulant(128, strides, 100e9)
    routes = ROUTING["coin-change"](topology, 0)
    load: Counter[tuple[int, int]] = Counter()
    for group in _groups(128, size):
        for ring in lay_rings(topology, routes, group, 2 * len(strides)):
            load.update(zip(ring.walk, (*ring.walk[1:], ring.walk[0]), strict=True))
    by_offset: dict[int, set[int]] = {}
    for (src, dst), rings in load.items():
        by_offset.setdefault((dst - src) % 128, set()).add(rings)
    assert all(len(counts) == 1 for counts in by_offset.values())


def test_more_rings_than_the_authors_lay_balance_the_offsets() -> None:
    # Six of twelve: they have [1,1] and [11,11]; 2 is also 7+7 and 10 is 5+5, so no interface need idle.
    patterns = coin_patterns(12, (1, 5, 7, 11), 6, 4)
    assert sorted(coins for _, coins in patterns) == [(1, 1), (5, 5), (7, 7), (11, 11)]


def test_coin_sequences_reach_the_next_member_in_fewest_coins() -> None:
    offsets = (1, 5, 7, 11)
    for size in (2, 3, 4, 6):
        for stride, coins in coin_patterns(12, offsets, size, 8):
            assert gcd(stride, size) == 1
            assert (sum(coins) - stride * (12 // size)) % 12 == 0


@settings(max_examples=120)
@given(
    st.sampled_from(sorted(NETWORKS.that(lambda one: one.wire is not None))),
    st.integers(2, 30),
    st.integers(2, 6),
    st.data(),
)
def test_any_group_on_any_family_gets_rings(
    check_ring: RingCheck, family: str, servers: int, degree: int, data: st.DataObject
) -> None:
    topology = NETWORKS[family].wire(servers, degree, 100e9, seed=1)
    routes = ROUTING["ecmp"](topology, 1)
    group = data.draw(st.lists(st.integers(0, servers - 1), min_size=2, unique=True))
    rings = lay_rings(topology, routes, group, degree, seed=2)
    assert 1 <= len(rings) <= degree
    for ring in rings:
        check_ring(topology, group, ring)


@settings(max_examples=60)
@given(st.integers(2, 40), st.data())
def test_directed_circulants_carry_any_group(
    check_ring: RingCheck, servers: int, data: st.DataObject
) -> None:
    others = data.draw(st.lists(st.integers(1, servers - 1), max_size=2))
    topology = circulant(servers, (1, *others), 1e9, links="directed")
    routes = ROUTING["coin-change"](topology, 0)
    group = data.draw(st.lists(st.integers(0, servers - 1), min_size=2, unique=True))
    for ring in lay_rings(topology, routes, group, 3):
        check_ring(topology, group, ring)


def test_switches_get_one_ring_in_member_order() -> None:
    topology = NETWORKS["ideal-switch"].wire(8, 4, 1e9)
    (ring,) = lay_rings(topology, ROUTING["ecmp"](topology, 0), (6, 1, 3), 4)
    assert ring.members == (1, 3, 6)
    assert ring.walk == (1, 8, 3, 8, 6, 8)


def test_parallel_links_carry_a_ring_each() -> None:
    topology = circulant(12, (1, 1, 5), 1e9)
    rings = lay_rings(topology, ROUTING["coin-change"](topology, 0), range(12), 6)
    assert [ring.stride for ring in rings] == [1, 5, 7, 11, 1, 11]


def test_direct_rings_of_arbitrary_members_are_found() -> None:
    members = (0, 2, 3, 9, 11)
    mesh = NETWORKS["full-mesh"].wire(12, 4, 1e9)
    rings = lay_rings(mesh, ROUTING["ecmp"](mesh, 0), members, 11)
    assert [ring.stride for ring in rings] == [1, 2, 3, 4]
    assert all(ring.walk == ring.members for ring in rings)


def _random_fabric(data: st.DataObject) -> tuple[Topology, int]:
    servers, degree = data.draw(st.integers(2, 40)), data.draw(st.integers(2, 7))
    family = data.draw(st.sampled_from(["torus", "expander", "full-mesh"]))
    return NETWORKS[family].wire(servers, degree, 1e9, seed=data.draw(st.integers(0, 4))), degree


@settings(max_examples=150)
@given(st.data())
def test_no_other_rings_of_all_servers_load_the_busiest_link_less(data: st.DataObject) -> None:
    topology, limit = _random_fabric(data)
    routes = ROUTING["ecmp"](topology, 1)
    group = np.arange(topology.servers)
    laid = busiest_share(topology, lay_rings(topology, routes, group.tolist(), limit, seed=2))
    for others in (
        direct_rings(topology, group, limit),
        hamiltonian_rings(topology, group, limit, 2),
        tours(topology, routes, group, limit, 2),
        (member_order_ring(routes, group),),
    ):
        for count in range(1, len(others) + 1):
            assert laid <= busiest_share(topology, others[:count]) + 1e-12


@settings(max_examples=100)
@given(st.data())
def test_no_stride_rings_or_else_tours_of_a_group_load_the_busiest_link_less(data: st.DataObject) -> None:
    topology, limit = _random_fabric(data)
    routes = ROUTING["ecmp"](topology, 1)
    members = data.draw(st.lists(st.integers(0, topology.servers - 1), min_size=2, unique=True))
    group = np.unique(members)
    others = direct_rings(topology, group, limit) or tours(topology, routes, group, limit, 2)
    laid = lay_rings(topology, routes, members, limit, seed=2)
    assert busiest_share(topology, laid) <= busiest_share(topology, others) + 1e-12


@pytest.mark.parametrize("name", ["torus", "expander"])
@pytest.mark.parametrize("servers", [16, 64, 128])
def test_an_even_degree_carries_an_allreduce_at_full_bandwidth(name: str, servers: int) -> None:
    # A ring AllReduce of S bytes sends 2 (n-1)/n S out of each server, here at d·B = 4 × 100 Gb/s.
    fabric = build_fabric(name, FabricRequest(servers, 4, 100e9, [tuple(range(servers))]))
    (rings,) = fabric.rings.values()
    sent_bytes = 2 * (servers - 1) / servers * 1e9
    busiest_bytes = busiest_share(fabric.topology, rings) * sent_bytes
    assert busiest_bytes * 8 / fabric.topology.bandwidth_bps.min() == pytest.approx(sent_bytes * 8 / 400e9)
    assert [ring.hops for ring in rings] == [servers] * 4


@pytest.mark.parametrize(
    ("servers", "strides", "share"), [(12, (2, 3), 1 / 4), (60, (6, 10, 15), 1 / 6), (128, (1, 13), 1 / 4)]
)
def test_circulant_keeps_all_interfaces_busy_with_or_without_strides_that_visit_all(
    servers: int, strides: tuple[int, ...], share: float
) -> None:
    topology = circulant(servers, strides, 1e9)
    rings = lay_rings(topology, ROUTING["coin-change"](topology, 0), range(servers), 2 * len(strides))
    assert busiest_share(topology, rings) == pytest.approx(share)


def test_stride_rings_stay_where_links_were_plugged_in_for_them() -> None:
    # ±2 visits half of the servers: in a plan it is there for other traffic.
    topology = circulant(16, (1, 2), 1e9)
    rings = lay_rings(topology, ROUTING["coin-change"](topology, 0), range(16), 4)
    assert [ring.stride for ring in rings] == [1, 15]


def test_tours_of_part_of_an_expander_are_short_and_share_few_links() -> None:
    graph = expander(64, 4, 1e9, seed=0)
    group = range(0, 64, 2)
    rings = lay_rings(graph, ROUTING["ecmp"](graph, 0), group, 4)
    assert max(ring.hops for ring in rings) <= 2 * len(group)
    assert busiest_share(graph, rings) <= 1 / 2


def test_rings_that_would_unbalance_the_offsets_are_left_out() -> None:
    # Four shortest patterns exist for pairs of eight; any third ring would load some offset twice.
    assert [coins for _, coins in coin_patterns(8, (1, 3, 5, 7), 4, 4)] == [(3, 7), (1, 5)]


def test_seed_gives_the_same_rings_again() -> None:
    graph = expander(32, 4, 1e9, seed=0)
    routes = ROUTING["ecmp"](graph, 0)
    assert lay_rings(graph, routes, range(20), 4, seed=5) == lay_rings(graph, routes, range(20), 4, seed=5)


def test_impossible_groups_are_refused(testbed: tuple[Topology, Routes]) -> None:
    for members in ((3,), (3, 3), (3, 12), (-1, 3)):
        with pytest.raises(InvalidInput, match=r"at least 2 members out of 0\.\.11"):
            lay_rings(*testbed, members, 4)
    with pytest.raises(InvalidInput, match="at least 1 ring"):
        lay_rings(*testbed, (1, 2), 0)


def test_group_without_a_way_is_refused() -> None:
    apart = circulant(8, (2,), 1e9)
    routes = ROUTING["ecmp"](apart, 0)
    with pytest.raises(NoRoute):
        lay_rings(apart, routes, (0, 1, 5), 2)
