"""Groups of an all-to-all that are joined completely, and the links between them."""

from itertools import combinations

import numpy as np
import pytest

from topoopt.finder import FinderRules, find_topology, layout_splits
from topoopt.topologies import hops_from
from topoopt.workloads.traffic import AllToAllGroup, Traffic, Transfers, merged_traffic

RULES = FinderRules("cliques")


def stages(count: int, size: int) -> Traffic:
    """Stages of ``size`` servers exchange within themselves, and send to the next stage, place by place."""
    servers = count * size
    groups = [
        AllToAllGroup(tuple(range(first, first + size)), 1_000_000) for first in range(0, servers, size)
    ]
    src = np.arange(servers - size)
    return merged_traffic(servers, (), groups, Transfers(src, src + size, np.full(len(src), 10_000)))


@pytest.mark.parametrize("links", ["duplex", "directed"])
@pytest.mark.parametrize(("count", "size", "degree"), [(8, 8, 8), (4, 4, 4), (5, 3, 3), (3, 4, 8)])
def test_every_pair_of_a_group_has_a_link_and_the_groups_are_joined(
    count: int, size: int, degree: int, links: str
) -> None:
    fabric = find_topology(stages(count, size), degree=degree, bandwidth_bps=1e9, links=links, rules=RULES)
    topology = fabric.topology
    for first in range(0, count * size, size):
        a, b = np.array(list(combinations(range(first, first + size), 2))).T
        assert (topology.link_ids(a, b) >= 0).all()
        assert (topology.link_ids(b, a) >= 0).all()
    ports = np.bincount(topology.src, topology.ports, count * size)
    assert ports.max() <= degree
    assert (hops_from(topology, np.arange(count * size)) >= 0).all()
    between = topology.src // size != topology.dst // size
    assert between.any()


def test_links_between_stages_are_shared_out_by_demand() -> None:
    """A stage in the middle has as many links to the one before as to the one after."""
    topology = find_topology(stages(3, 4), degree=4, bandwidth_bps=1e9, rules=RULES).topology
    between = [
        int(topology.ports[(topology.src // 4 == a) & (topology.dst // 4 == b)].sum())
        for a, b in ((0, 1), (1, 2))
    ]
    assert between == [2, 2]


def test_the_split_is_tried_where_groups_can_be_joined() -> None:
    assert "cliques" in layout_splits(stages(8, 8), 8)
    assert "cliques" not in layout_splits(stages(8, 8), 7)  # no port would be left
    no_exchange = merged_traffic(8, (), (), Transfers(np.arange(7), np.arange(1, 8), np.full(7, 10)))
    assert "cliques" not in layout_splits(no_exchange, 8)


def test_without_such_groups_it_is_proportional() -> None:
    traffic = stages(2, 8)
    made, usual = (
        find_topology(traffic, degree=4, bandwidth_bps=1e9, rules=rules).topology
        for rules in (RULES, FinderRules())
    )
    assert np.array_equal(made.src, usual.src)
    assert np.array_equal(made.dst, usual.dst)
