"""TopologyFinder: what every fabric it builds must keep to."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import DAMPING, DEGREE_SPLITS, STRIDE_RULES, FinderRules, find_topology, topology_finder
from topoopt.routing import Fabric, link_loads
from topoopt.topologies import Ring, Topology, hop_metrics
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfer, merged_traffic

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


def _dense(servers: int, mp_bytes: int = 0, gradients: int = 10**9) -> Traffic:
    everyone = tuple(range(servers))
    return merged_traffic(servers, [AllReduceGroup(everyone, gradients)], [AllToAllGroup(everyone, mp_bytes)])


def _find(traffic: Traffic, degree: int, links: str = "duplex", **rules: str) -> Fabric:
    return find_topology(traffic, degree=degree, bandwidth_bps=100e9, links=links, rules=FinderRules(**rules))


def _ports_out(topology: Topology) -> list[int]:
    counts: list[int] = np.bincount(topology.src, topology.ports, topology.servers).astype(int).tolist()
    return counts


def test_dlrm_demo_of_the_authors() -> None:
    # n=16, d=4: strides ±1, ±5 (spec section 10).
    fabric = _find(_dense(16), 4, degree_split="all-to-allreduce", strides="lower-bound")
    assert fabric.topology.offsets == (1, 5, 11, 15)
    assert [ring.stride for ring in fabric.rings[tuple(range(16))]] == [1, 5, 11, 15]


def test_allreduce_bytes_of_a_link_are_the_published_ones() -> None:
    # DLRM with 128 tables, n=128, d=8 (spec section 10): floor(2 · 127/128 · M / 8).
    gradients = 1_359_273_988
    fabric = _find(
        _dense(128, gradients=gradients), 8, degree_split="all-to-allreduce", strides="lower-bound"
    )
    rings = fabric.rings[tuple(range(128))]
    load = np.zeros(len(fabric.topology))
    for ring in rings:
        load[fabric.topology.link_ids(*ring.edges())] += 2 * 127 / 128 * gradients / len(rings)
    assert set(np.floor(load).astype(int).tolist()) == {337_163_664}


def test_small_transfers_leave_a_pure_circulant() -> None:
    fabric = _find(_dense(128, mp_bytes=1000), 4)
    assert fabric.topology.family == "circulant"
    assert fabric.routes.method == "coin-change"


def test_heavy_transfers_get_links_of_their_own() -> None:
    heavy = [Transfer(0, 40, 10**12), Transfer(7, 90, 10**12)]
    traffic = merged_traffic(128, [AllReduceGroup(tuple(range(128)), 10**9)], (), heavy)
    fabric = _find(traffic, 6)
    assert fabric.topology.ports[fabric.topology.link_id(0, 40)] >= 2
    assert fabric.topology.ports[fabric.topology.link_id(7, 90)] >= 2
    assert fabric.routes.method == "k-shortest"


def test_served_demand_is_halved_both_ways_before_the_next_matching() -> None:
    moves = [Transfer(4, 0, 10 * 10**9), Transfer(0, 2, 6 * 10**9)]
    traffic = merged_traffic(8, [AllReduceGroup(tuple(range(8)), 10**6)], (), moves)
    topology = _find(traffic, 4).topology
    assert topology.link_id(0, 4) >= 0
    assert topology.link_id(0, 2) >= 0


def test_uniform_exchange_gets_links_that_the_rings_do_not_have() -> None:
    fabric = _find(_dense(32, mp_bytes=10**9, gradients=10**6), 6)
    assert int(fabric.topology.ports.max()) == 1


def test_without_any_traffic_the_servers_are_still_joined() -> None:
    assert hop_metrics(_find(Traffic(8), 2).topology).diameter == 4


def test_groups_that_do_not_span_leave_a_ring_of_everybody() -> None:
    halves = merged_traffic(
        16, [AllReduceGroup(tuple(range(0, 16, 2)), 10**9), AllReduceGroup(tuple(range(1, 16, 2)), 10**9)]
    )
    fabric = _find(halves, 4)
    assert fabric.topology.link_id(0, 1) >= 0
    assert fabric.topology.link_id(0, 2) >= 0
    for rings in fabric.rings.values():
        assert all(ring.walk == ring.members for ring in rings)
    directed = _find(halves, 2, links="directed")
    assert _ports_out(directed.topology) == [2] * 16


def test_degree_that_no_small_group_can_use_keeps_them_multi_hop() -> None:
    halves = merged_traffic(16, [AllReduceGroup(tuple(range(0, 16, 2)), 10**9)])
    fabric = _find(halves, 2)
    (rings,) = fabric.rings.values()
    assert {ring.hops for ring in rings} == {16}


def test_degree_is_divided_as_the_groups_weigh() -> None:
    # 2(g-1)·M on the wire: 3/4 and 1/4 of eight directed interfaces are six and two.
    everyone, some = tuple(range(12)), (0, 3, 6, 9)
    traffic = merged_traffic(12, [AllReduceGroup(everyone, 9 * 10**8), AllReduceGroup(some, 11 * 10**8)])
    ports = _find(traffic, 8, links="directed", strides="nearest").topology
    strided = [int(ports.ports[ports.link_id(0, (0 + step) % 12)]) for step in (1, 5, 7, 11)]
    assert strided == [2, 2, 1, 1]
    assert ports.ports[ports.link_id(0, 3)] == 1
    assert ports.ports[ports.link_id(0, 9)] == 1


def test_shares_are_rounded_up_until_the_degree_is_used_up() -> None:
    # 40 %, 30 % and 30 % of four: ceil gives 2 and 2, and the third group has to relay.
    twelve = tuple(range(12))
    groups = [
        AllReduceGroup(twelve, 12 * 10**8),
        AllReduceGroup(twelve[:-1], round(9 * 10**8 * 11 / 10)),
        AllReduceGroup(twelve[1:], round(9 * 10**8 * 11 / 10)),
    ]
    shares = DEGREE_SPLITS["proportional"](merged_traffic(12, groups), 4, "directed")
    assert shares == {twelve: 2, twelve[:-1]: 2}


def test_left_over_degree_goes_round_to_the_groups() -> None:
    # ceil(4 · 1/2) = 2 interfaces each; the ring of everybody has taken 2 of six before.
    halves = [AllReduceGroup(tuple(range(start, 16, 2)), 10**9) for start in (0, 1)]
    fabric = _find(merged_traffic(16, halves), 6)
    for rings in fabric.rings.values():
        assert [ring.stride for ring in rings if ring.walk == ring.members] == [1, 3, 5, 7]


def test_odd_interface_of_an_even_circulant_is_the_half_turn() -> None:
    for split in ("proportional", "all-to-allreduce"):
        # Chosen together with ±37, which suits it better than ±15 does.
        assert _find(_dense(128), 5, degree_split=split).topology.offsets == (1, 37, 64, 91, 127)
    assert 64 in _find(_dense(128, mp_bytes=10**6), 5, degree_split="all-to-allreduce").topology.offsets


def test_odd_interfaces_of_an_odd_number_of_servers_idle_at_one_only() -> None:
    assert sorted(_ports_out(_find(_dense(15), 3).topology)) == [2] + [3] * 14
    busy = _find(_dense(15, mp_bytes=10**5), 3, degree_split="all-to-allreduce")
    assert sorted(_ports_out(busy.topology)) == [2] + [3] * 14


def test_two_servers_use_all_interfaces_in_parallel() -> None:
    for links in ("duplex", "directed"):
        fabric = _find(_dense(2), 4, links=links)
        assert fabric.topology.ports.tolist() == [4, 4]
        assert len(fabric.rings[(0, 1)]) == 4


def test_one_duplex_interface_joins_two_servers_only() -> None:
    assert _ports_out(_find(_dense(2), 1).topology) == [1, 1]
    with pytest.raises(InvalidInput, match="1 duplex interface cannot connect 3 servers"):
        _find(_dense(3), 1)
    assert _ports_out(_find(_dense(3), 1, links="directed").topology) == [1, 1, 1]


def test_transfers_can_turn_the_circulant_towards_themselves() -> None:
    shift = [Transfer(i, (i + 37) % 128, 1000) for i in range(128)]
    traffic = merged_traffic(128, [AllReduceGroup(tuple(range(128)), 10**9)], (), shift)
    assert 37 in _find(traffic, 4).topology.offsets
    assert 37 not in _find(_dense(128), 4).topology.offsets


@pytest.mark.parametrize("option", ["links", "degree_split", "strides", "damping", "routing"])
def test_unknown_names_are_refused(option: str) -> None:
    with pytest.raises(InvalidInput, match='unknown name "nonsense"'):
        _find(_dense(8), 4, **{option: "nonsense"})


def test_degree_zero_is_refused() -> None:
    with pytest.raises(InvalidInput, match="degree: must be at least 1, got 0"):
        _find(_dense(8), 0)


def test_pairs_of_too_many_servers_are_not_matched() -> None:
    traffic = _dense(9000, mp_bytes=10**7)
    with pytest.raises(Infeasible, match="at most 8192 servers, got 9000"):
        _find(traffic, 4)
    assert _find(traffic, 4, degree_split="all-to-allreduce").topology.offsets


def test_same_input_gives_the_same_fabric() -> None:
    one, two = (_find(_dense(64, mp_bytes=10**8), 6) for _ in range(2))
    assert (one.topology.dst == two.topology.dst).all()
    assert one.rings == two.rings


@st.composite
def _jobs(draw: st.DrawFn) -> Traffic:
    servers = draw(st.integers(2, 64))
    server = st.integers(0, servers - 1)
    groups = draw(
        st.lists(st.tuples(st.sets(server, min_size=2, max_size=12), st.integers(1, 10**9)), max_size=4)
    )
    divisors = [k for k in range(2, servers + 1) if servers % k == 0]
    size = draw(st.sampled_from(divisors))
    copies = draw(st.integers(0, servers // size))
    regular = [tuple(range(start, servers, servers // size)) for start in range(copies)]
    moves = draw(st.lists(st.tuples(server, server, st.integers(1, 10**10)), max_size=6))
    exchange = draw(st.integers(0, 10**8))
    return merged_traffic(
        servers,
        [AllReduceGroup(tuple(sorted(members)), size) for members, size in groups]
        + [AllReduceGroup(members, 10**8) for members in regular],
        [AllToAllGroup(tuple(range(servers)), exchange)],
        [Transfer(*move) for move in moves],
    )


@settings(max_examples=150)
@given(
    _jobs(),
    st.integers(2, 9),
    st.sampled_from(["duplex", "directed"]),
    st.sampled_from(sorted(DEGREE_SPLITS)),
    st.sampled_from(sorted(STRIDE_RULES)),
    st.sampled_from(sorted(DAMPING)),
    st.sampled_from(["coin-change", "k-shortest"]),
)
def test_every_fabric_is_connected_within_its_degree_and_carries_its_rings(
    check_ring: RingCheck,
    traffic: Traffic,
    degree: int,
    links: str,
    degree_split: str,
    strides: str,
    damping: str,
    routing: str,
) -> None:
    fabric = _find(
        traffic,
        degree,
        links=links,
        degree_split=degree_split,
        strides=strides,
        damping=damping,
        routing=routing,
    )
    topology = fabric.topology
    out = np.bincount(topology.src, topology.ports, topology.servers)
    into = np.bincount(topology.dst, topology.ports, topology.servers)
    assert out.max() <= degree
    assert (out == into).all()
    assert (out == degree).sum() >= topology.servers - 1  # no interface idles that has a partner
    hop_metrics(topology)  # raises NoRoute if disconnected
    if links == "duplex":
        back = topology.link_ids(topology.dst.astype(np.int64), topology.src.astype(np.int64))
        assert (back >= 0).all()
        assert (topology.ports[back] == topology.ports).all()
    assert set(fabric.rings) == {group.members for group in traffic.allreduce}
    for members, rings in fabric.rings.items():
        assert 1 <= len(rings) <= degree + 3  # three matchings carry six rings, each link two of them
        for ring in rings:
            check_ring(topology, members, ring)


def test_4096_servers_with_routes_and_loads() -> None:
    fabric = _find(_dense(4096), 8)
    loads = link_loads(fabric.topology, fabric.routes, np.ones((4096, 4096)))
    hops = hop_metrics(fabric.topology).average_hops
    assert loads.sum() == pytest.approx(4096 * 4095 * hops)


def test_65536_servers_need_no_matrix() -> None:
    topology = _find(_dense(65536), 8).topology
    assert len(topology) == 65536 * 8
    assert topology.offsets[0] == 1


def test_by_group_a_pipeline_gets_the_torus_of_its_stages_and_replicas() -> None:
    """Four stages of eight replicas: rings of each stage's replicas and rings of stages, with no port left over."""
    servers = np.arange(32).reshape(4, 8)
    groups = [AllReduceGroup(tuple(stage.tolist()), 10**9) for stage in servers]
    after = np.roll(servers, -1, axis=0)
    sends = [
        Transfer(*pair, 10**9) for pair in zip(servers.ravel().tolist(), after.ravel().tolist(), strict=True)
    ]
    fabric = _find(merged_traffic(32, groups, (), sends), 4, degree_split="by-group")
    links = set(zip(fabric.topology.src.tolist(), fabric.topology.dst.tolist(), strict=True))
    assert {(one.src, one.dst) for one in sends} <= links
    assert all(
        ring.walk == ring.members for rings in fabric.rings.values() for ring in rings
    )  # on links of their own
    assert fabric.topology.ports.sum() == 4 * 32


def test_routes_of_very_many_servers_have_one_sequence_a_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the coins are loaded about evenly, as the choice among sequences of a distance allows."""
    monkeypatch.setattr(topology_finder, "_LARGEST_FOR_WAYS", 16)
    fabric = _find(_dense(64), 4)
    routes = fabric.routes
    assert all(len(routes.paths(0, dst)) == 1 for dst in range(1, 64))
    loads = link_loads(fabric.topology, routes, np.ones((64, 64)))
    assert loads.max() <= 1.1 * loads.mean()


def test_three_matchings_of_four_replicas_carry_six_rings_two_on_each_link() -> None:
    """Three ports of each of four servers join them all: a ring either way along each two of the matchings."""
    group = AllReduceGroup((0, 1, 2, 3), 1)
    traffic = merged_traffic(5, [group], transfers=[Transfer(0, 4, 1)])
    rings = _find(traffic, 4, degree_split="by-group-but-one").rings[group.members]
    used = Counter(step for ring in rings for step in pairwise((*ring.walk, ring.walk[0])))
    assert len(rings) == 6
    assert set(used.values()) == {2}
    assert len(used) == 12
