"""Wirings by name, in place of strides: who they join, with which rings, and what is refused."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import WIRING_NAMES, FinderRules, find_topology, lay_rings, named_wiring
from topoopt.routing import Fabric
from topoopt.topologies import Ring, Topology, hop_metrics, lifted_of
from topoopt.topologies.wirings import known_wirings, ports_by_rings
from topoopt.topologies.wirings.file import write_wiring_file
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfer, merged_traffic

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


def _dense(servers: int, mp_bytes: int = 0, transfers: Sequence[Transfer] = ()) -> Traffic:
    everyone = tuple(range(servers))
    gradients = [AllReduceGroup(everyone, 10**9)]
    return merged_traffic(servers, gradients, [AllToAllGroup(everyone, mp_bytes)], transfers)


def _find(traffic: Traffic, degree: int, wiring: str, split: str = "all-to-allreduce") -> Fabric:
    return find_topology(
        traffic, degree=degree, bandwidth_bps=100e9, rules=FinderRules(split, wiring=wiring), seed=0
    )


def _loads(fabric: Fabric) -> np.ndarray:
    """What an AllReduce of all of one byte, split equally over the rings, leaves on each port, in 2(n-1)/n bytes."""
    topology, rings = fabric.topology, fabric.rings[tuple(range(fabric.topology.servers))]
    crossings = sum(np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology)) for ring in rings)
    loads: np.ndarray = crossings / len(rings) / topology.ports
    return loads


@pytest.mark.parametrize(("servers", "degree"), [(12, 4), (16, 6), (64, 4), (9, 4)])
def test_rings_of_a_lifted_wiring_use_every_port_alike(servers: int, degree: int) -> None:
    fabric = _find(_dense(servers, 10**6), degree, "lifted")
    assert fabric.topology.ports.sum() == servers * degree
    assert np.allclose(_loads(fabric), 1 / degree)


@pytest.mark.parametrize(("servers", "degree"), [(16, 3), (12, 5), (24, 7)])
def test_half_rate_rings_of_an_odd_degree_leave_no_port_idle(
    servers: int, degree: int, check_ring: RingCheck
) -> None:
    # Spec D: three cubic cycles, both ways, load every arc exactly twice: six half-rate rings.
    fabric = _find(_dense(servers), degree, "lifted")
    rings = fabric.rings[tuple(range(servers))]
    assert len(rings) == 6 + 2 * (degree - 3)
    assert np.allclose(_loads(fabric), 1 / degree)
    for ring in rings:
        check_ring(fabric.topology, tuple(range(servers)), ring)


def test_strides_that_are_not_coprime_make_both_cycles_together() -> None:
    # Spec A: C(12,{2,3}) has diameter 2 and two Hamiltonian cycles, though neither stride makes a ring.
    fabric = _find(_dense(12), 4, "circulant")
    assert fabric.topology.offsets == (2, 3, 9, 10)
    assert np.allclose(_loads(fabric), 1 / 4)
    assert hop_metrics(fabric.topology).diameter == 2


def test_a_topology_keeps_its_rings() -> None:
    fabric = _find(_dense(128, 10**6), 4, "lifted")
    everyone = range(128)
    assert lay_rings(fabric.topology, fabric.routes, everyone, 4) is fabric.topology.rings
    assert fabric.wiring is not None
    assert fabric.wiring.family == "lifted"


def test_heavy_pairs_get_links_on_top_of_a_family() -> None:
    # Half of the ports for the rings of all, by lifted cycles; the heaviest pair is joined.
    traffic = _dense(16, 0, [Transfer(0, 9, 10**11)])
    fabric = _find(traffic, 4, "lifted", "proportional")
    assert fabric.topology.link_id(0, 9) >= 0
    assert max(np.bincount(fabric.topology.src, fabric.topology.ports)) <= 4


@settings(max_examples=25)
@given(st.sampled_from(WIRING_NAMES), st.integers(4, 20), st.integers(2, 6), st.integers(0, 10**9))
def test_any_family_wires_any_job(
    check_ring: RingCheck, name: str, servers: int, degree: int, mp_bytes: int
) -> None:
    traffic = _dense(servers, mp_bytes)
    try:
        fabric = _find(traffic, min(degree, servers - 1), name)
    except Infeasible:
        return
    topology = fabric.topology
    assert max(np.bincount(topology.src, topology.ports, servers)) <= degree
    for ring in fabric.rings[tuple(range(servers))]:
        check_ring(topology, tuple(range(servers)), ring)


def test_a_family_says_where_it_exists() -> None:
    with pytest.raises(Infeasible, match=r"wiring slim-fly: there is none for 16 .* nearest"):
        named_wiring("slim-fly", 16, 4, "duplex")
    with pytest.raises(InvalidInput, match="wiring"):
        FinderRules(wiring="lifetd")


def test_a_wiring_file_is_taken_as_it_is(tmp_path: Path) -> None:
    # Spec B, n=128 d=8 g=32: as few hops as Moore's bound.
    orders = ((0, 2, 3, 1), (3, 2, 0, 1), (3, 0, 2, 1), (2, 1, 0, 3))
    voltages = ((23, 17, 9, 16), (13, 3, 28, 29), (28, 18, 1, 2), (4, 3, 28, 6))
    wiring = lifted_of(128, orders, voltages)
    ports = ports_by_rings(wiring)
    assert ports is not None
    path = tmp_path / "wiring.json"
    write_wiring_file(path, wiring, ports)
    fabric = _find(_dense(128), 8, str(path))
    assert hop_metrics(fabric.topology).average_hops == pytest.approx((8 + 2 * 56 + 3 * 63) / 127)
    assert len(fabric.rings[tuple(range(128))]) == 8
    with pytest.raises(InvalidInput, match="joins 128 servers of 8 duplex ports; asked for 64 servers"):
        _find(_dense(64), 8, str(path))


def test_of_usual_numbers_the_known_wiring_is_taken_whatever_the_seed() -> None:
    best = known_wirings(128, 4)[0]
    for seed in (0, 1, 2):
        assert named_wiring("lifted", 128, 4, "duplex", seed).recipe == best.recipe


def test_of_other_numbers_the_seed_decides() -> None:
    one, other = (named_wiring("lifted", 22, 4, "duplex", seed).recipe for seed in (1, 2))
    assert one != other


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInput, match='wiring: unknown name "100 Gbps"'):
        named_wiring("100 Gbps", 8, 2, "duplex")
    with pytest.raises(InvalidInput, match="wiring: strides: which ones is for a plan to choose"):
        named_wiring("strides", 8, 2, "duplex")
    with pytest.raises(InvalidInput, match="wiring: objective"):
        named_wiring("lifted:cheap", 8, 2, "duplex")
