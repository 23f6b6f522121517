"""Groups that get an odd number of interfaces: none idle, every ring direct, what joins the groups makes it one."""

import math

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import FinderRules, find_topology
from topoopt.finder.select_permutations import select_permutations
from topoopt.workloads.traffic import AllReduceGroup, Traffic, Transfers, merged_traffic


def pairs(servers: int, apart: int = 2) -> Traffic:
    """Every ``apart``-th server reduces together; neighbors within each block exchange as much."""
    groups = [AllReduceGroup(tuple(range(c, servers, apart)), 1_000_000) for c in range(apart)]
    server = np.arange(servers)
    src = np.repeat(server, apart - 1)
    dst = np.concatenate([[s // apart * apart + (s + k) % apart for k in range(1, apart)] for s in server])
    moved = Transfers(src, dst.astype(np.int64), np.full(len(src), 500_000, np.int64))
    return merged_traffic(servers, groups, (), moved)


@pytest.mark.parametrize("links", ["duplex", "directed"])
@pytest.mark.parametrize(("servers", "degree"), [(128, 4), (16, 4), (24, 6), (64, 8)])
def test_pairs_get_a_cable_and_their_halves_all_others(servers: int, degree: int, links: str) -> None:
    """Three matchings of a group of 64 are six rings at half an interface's rate: every link is crossed twice."""
    traffic = pairs(servers)
    rules = FinderRules("by-group-but-one")
    fabric = find_topology(traffic, degree=degree, bandwidth_bps=1e9, links=links, rules=rules)
    topology = fabric.topology
    assert len(topology) <= servers * degree == int(topology.ports.sum())
    for group in traffic.allreduce:
        crossed = np.zeros(len(topology))
        for ring in fabric.rings[group.members]:
            assert sorted(ring.walk) == list(group.members)  # no relays
            crossed += np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology))
        inside = np.isin(topology.src, group.members) & np.isin(topology.dst, group.members)
        per_port = crossed[inside] / topology.ports[inside]
        assert int(topology.ports[inside].sum()) == len(group.members) * (degree - 1)
        assert per_port.min() == per_port.max() > 0
        assert not crossed[~inside].any()
    even = np.arange(0, servers, 2)
    assert (topology.link_ids(even, even + 1) >= 0).all()


def test_two_are_left_for_blocks_of_four() -> None:
    fabric = find_topology(pairs(32, 4), degree=6, bandwidth_bps=1e9, rules=FinderRules("by-group-but-two"))
    inside = fabric.topology.src % 4 == fabric.topology.dst % 4
    assert int(fabric.topology.ports[inside].sum()) == 32 * 4


def test_without_groups_that_share_no_server_it_is_proportional() -> None:
    """A group of all servers, or groups that one interface cannot join."""
    everyone = merged_traffic(16, [AllReduceGroup(tuple(range(16)), 1000)])
    for traffic, degree in ((everyone, 4), (pairs(4), 2)):
        usual, other = (
            find_topology(traffic, degree=degree, bandwidth_bps=1e9, rules=FinderRules(split)).topology
            for split in ("proportional", "by-group-but-one")
        )
        assert np.array_equal(usual.src, other.src)
        assert np.array_equal(usual.dst, other.dst)


@pytest.mark.parametrize("split", ["by-group-but-one", "by-group-but-two"])
def test_along_strides_every_ring_of_a_group_is_one_of_its_strides(split: str) -> None:
    """An odd interface is the half turn of the group, which is no ring."""
    traffic = pairs(64)
    rules = FinderRules(split, group_rings="strides")
    fabric = find_topology(traffic, degree=5, bandwidth_bps=1e9, rules=rules)
    interfaces = 5 - (1 if split == "by-group-but-one" else 2)
    for group in traffic.allreduce:
        strides = [p for p in select_permutations(32, interfaces) if math.gcd(p, 32) == 1]
        rings = fabric.rings[group.members]
        assert {ring.stride for ring in rings} == {*strides, *(32 - p for p in strides)}  # either way around
        for ring in rings:
            members = np.asarray(group.members)
            assert ring.walk == tuple(members[np.arange(32) * ring.stride % 32])


def test_unknown_group_rings_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r'^group rings: unknown name "lift"'):
        FinderRules(group_rings="lift")
