"""Ranks on the servers of a wiring: heavy pairs become neighbors, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.finder import named_wiring
from topoopt.finder.topology_finder import placed
from topoopt.topologies import DirectWiring, hops_from, wiring_hops
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfer, merged_traffic


def _bytes_times_hops(wiring: DirectWiring, traffic: Traffic) -> float:
    hops = hops_from(wiring.topology(), np.arange(wiring.servers))
    return float((traffic.mp_matrix() * hops).sum())


def test_a_pipeline_finds_a_hamiltonian_cycle_of_a_torus() -> None:
    # Rank i sends to i + 5 (mod 16): one ring of all, which a 4 x 4 torus has; every byte crosses one link then.
    traffic = merged_traffic(16, [], [], [Transfer(i, (i + 5) % 16, 10**6) for i in range(16)])
    wiring = placed(named_wiring("torus", 16, 4, "duplex"), traffic, 0)
    assert _bytes_times_hops(wiring, traffic) == 16 * 10**6


def test_ranks_of_a_cycle_stand_in_order() -> None:
    # Two interfaces are one ring; ranks 0 and 8 are the heaviest pair, and become neighbors.
    traffic = merged_traffic(16, [], [], [Transfer(0, 8, 10**9), Transfer(8, 0, 10**9)])
    wiring = placed(named_wiring("lifted", 16, 2, "duplex"), traffic, 0)
    src, dst = wiring.arcs
    assert (0, 8) in set(zip(src.tolist(), dst.tolist(), strict=True))
    assert wiring.recipe["place"]


def test_what_all_do_alike_places_nobody() -> None:
    everyone = tuple(range(16))
    alike = merged_traffic(16, [AllReduceGroup(everyone, 10**9)], [AllToAllGroup(everyone, 10**6)])
    wiring = named_wiring("lifted", 16, 4, "duplex")
    assert placed(wiring, alike, 0) is wiring


def test_members_of_a_small_group_come_near() -> None:
    groups = [AllReduceGroup((i, i + 4, i + 8, i + 12), 10**9) for i in range(4)]
    wiring = named_wiring("lifted", 16, 4, "duplex")
    traffic = merged_traffic(16, groups)
    hops = hops_from(placed(wiring, traffic, 0).topology(), np.arange(16))
    before = hops_from(wiring.topology(), np.arange(16))
    inside = [(a, b) for group in groups for a in group.members for b in group.members]
    assert sum(hops[pair] for pair in inside) < sum(before[pair] for pair in inside)


@settings(max_examples=25)
@given(st.integers(4, 20), st.sampled_from(["lifted", "circulant", "expander"]), st.integers(0, 2**32 - 1))
def test_a_placed_wiring_is_the_same_graph_and_no_worse(servers: int, family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    transfers = [
        Transfer(int(a), int(b), int(size))
        for a, b, size in zip(*rng.integers(0, servers, (2, 12)), rng.integers(1, 10**9, 12), strict=True)
        if a != b
    ]
    if not transfers:
        return
    traffic = merged_traffic(servers, [AllReduceGroup(tuple(range(servers)), 10**6)], [], transfers)
    wiring = named_wiring(family, servers, min(4, servers - 1) // 2 * 2, "duplex")
    again = placed(wiring, traffic, 0)
    assert _bytes_times_hops(again, traffic) <= _bytes_times_hops(wiring, traffic)
    assert wiring_hops(again).histogram == pytest.approx(wiring_hops(wiring).histogram)
    links = again.topology()
    for ring in again.rings:
        assert (links.link_ids(ring.walk, np.roll(ring.walk, -1)) >= 0).all()
