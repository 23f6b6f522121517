"""No route or ring of a repair uses a dead link, and detours cost what they must and no more."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.failure.conftest import MakePlan
from topoopt.base.errors import NoRoute
from topoopt.finder import busiest_share, lay_rings
from topoopt.routing import make_routes, path_arrays
from topoopt.studies.failure.fault import DetouredRoutes, detoured_rings, is_whole, rings_left, spread_rings
from topoopt.topologies import Link, Ring, Topology, circulant, topology_from_links


def cut(topology: Topology, dead: set[tuple[int, int]]) -> Topology:
    """Return the topology without some links; written without any of what is tested."""
    left = [link for link in topology if (link.src, link.dst) not in dead]
    return topology_from_links("direct", topology.servers, left)


def both(*pairs: tuple[int, int]) -> set[tuple[int, int]]:
    return {ends for a, b in pairs for ends in ((a, b), (b, a))}


@given(seed=st.integers(0, 10**6), failures=st.integers(1, 6), model=st.sampled_from(["duplex", "directed"]))
@settings(max_examples=15)
def test_repaired_routes_and_rings_use_no_dead_link(seed: int, failures: int, model: str) -> None:
    rng = np.random.default_rng(seed)
    topology = (
        circulant(12, (1, 5), 1e9) if model == "duplex" else circulant(12, (1, 5, 7), 1e9, links="directed")
    )
    everyone = tuple(range(12))
    rings = {everyone: lay_rings(topology, make_routes("coin-change", topology), everyone, 4)}
    chosen = rng.choice(len(topology), failures, replace=False)
    dead = {(int(topology.src[i]), int(topology.dst[i])) for i in chosen}
    dead = both(*dead) if model == "duplex" else dead
    left = cut(topology, dead)
    routes = DetouredRoutes(left, make_routes("coin-change", topology))
    src, dst = (np.array(ends) for ends in zip(*itertools.permutations(range(12), 2), strict=True))
    try:
        table = path_arrays(routes, src, dst)
        repaired = [detoured_rings(left, rings), spread_rings(left, rings)]
    except NoRoute:
        return
    for pair, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        paths = routes.paths(a, b)
        assert sum(path.weight for path in paths) == pytest.approx(1)
        for path in paths:
            assert (path.nodes[0], path.nodes[-1]) == (a, b)
            assert not dead & set(itertools.pairwise(path.nodes))
        rows = range(table.path_first[pair], table.path_first[pair + 1])
        in_table = {
            tuple(table.nodes[table.node_first[row] : table.node_first[row + 1]].tolist()): table.weight[row]
            for row in rows
        }
        assert in_table == pytest.approx({path.nodes: path.weight for path in paths})
    for some in repaired:
        for ring in some[everyone]:
            assert sorted(ring.members) == list(everyone)
            assert not dead & set(itertools.pairwise((*ring.walk, ring.walk[0])))


def test_who_does_not_need_a_dead_link_keeps_its_paths() -> None:
    topology = circulant(12, (1, 5), 1e9)
    before = make_routes("coin-change", topology)
    after = DetouredRoutes(cut(topology, both((0, 1))), before)
    untouched = [
        (a, b)
        for a, b in itertools.permutations(range(12), 2)
        if not any({0, 1} <= set(path.nodes) for path in before.paths(a, b))
    ]
    assert len(untouched) > 60
    assert all(
        after.paths(*pair) == tuple(p for p in before.paths(*pair) if p.weight > 0) for pair in untouched
    )
    assert {path.hops for path in after.paths(0, 1)} == {3}  # 0, 5, 6, 1 and its like


@pytest.mark.parametrize(
    ("servers", "strides", "ports"), [(16, (1, 5), 4), (16, (1, 3, 5), 6), (13, (1, 5), 4)]
)
def test_copies_with_different_detours_lose_no_more_than_the_dead_port(
    servers: int, strides: tuple[int, ...], ports: int
) -> None:
    # Every ring has to leave server 0, which has one port less: no rings carry less than 1/(d-1) on some link.
    topology = circulant(servers, strides, 1e9)
    everyone = tuple(range(servers))
    rings = {everyone: lay_rings(topology, make_routes("coin-change", topology), everyone, ports)}
    left = cut(topology, both((0, 1)))
    assert busiest_share(topology, rings[everyone]) == pytest.approx(1 / ports)
    assert busiest_share(left, detoured_rings(left, rings)[everyone]) == pytest.approx(2 / ports)
    assert busiest_share(left, spread_rings(left, rings)[everyone]) == pytest.approx(1 / (ports - 1))


def test_rings_that_are_whole_are_left() -> None:
    topology = circulant(8, (1, 3), 1e9)
    everyone = tuple(range(8))
    rings = {everyone: lay_rings(topology, make_routes("coin-change", topology), everyone, 4)}
    left = rings_left(cut(topology, both((0, 1))), rings)
    assert left is not None
    assert [ring.stride for ring in left[everyone]] == [3, 5]
    assert rings_left(topology, rings) is None
    assert rings_left(cut(topology, both((0, 1), (0, 3))), rings) is None


def test_a_cable_ring_that_is_cut_goes_back_the_whole_way() -> None:
    topology = cut(circulant(5, (1,), 1e9), both((0, 1)))
    ring = Ring(1, (0, 1, 2, 3, 4), (0, 1, 2, 3, 4))
    assert not is_whole(topology, ring)
    (around,) = detoured_rings(topology, {ring.members: (ring,)})[ring.members]
    assert around.walk == (0, 4, 3, 2, 1, 2, 3, 4)
    assert around.members == ring.members


def test_where_there_is_no_way_it_says_so() -> None:
    fibers = topology_from_links("direct", 3, [Link(0, 1, 1e9), Link(1, 2, 1e9)])
    ring = Ring(1, (0, 1, 2), (0, 1, 2))
    with pytest.raises(NoRoute, match="no route 2->0: the links that are left do not connect them"):
        detoured_rings(fibers, {ring.members: (ring,)})
    with pytest.raises(NoRoute):
        DetouredRoutes(fibers, make_routes("ecmp", circulant(3, (1,), 1e9, links="directed"))).paths(2, 0)


def test_routes_can_be_written_down(small_plan: MakePlan) -> None:
    plan = small_plan(tables=4)
    left = cut(plan.fabric.topology, both((0, 1)))
    routes = DetouredRoutes(left, plan.fabric.routes)
    table = routes.written_down(itertools.permutations(range(16), 2))
    assert table.paths(0, 1) == routes.paths(0, 1)
