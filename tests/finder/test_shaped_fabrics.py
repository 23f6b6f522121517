"""Fabrics with settings of their own, and fabrics larger than the job."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.catalog import networks_of
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.simulation import (
    COLLECTIVE,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Ring, Topology

RingCheck = Callable[[Topology, Sequence[int], Ring], None]
GROUPS = (tuple(range(16)), (0, 4, 8, 12), (1, 2, 7))
SWITCHES = FabricShape(switches=True)


def graph(times: int = 1) -> TaskGraph:
    """Return AllReduces of all groups and transfers between many pairs, all at once."""
    rng = np.random.default_rng(3)
    src = rng.integers(0, 16, 60)
    rows = [
        TaskRows(
            TRANSFER, 60, src=src, dst=(src + rng.integers(1, 16, 60)) % 16, size_bytes=times * 10_000_000
        ),
        TaskRows(COLLECTIVE, 3, size_bytes=times * 80_000_000, collective=0, members=GROUPS),
    ]
    return task_graph_from_edges(16, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))


@pytest.mark.parametrize("name", networks_of("simulate"))
def test_every_fabric_has_servers_to_spare_for_a_smaller_job(name: str, check_ring: RingCheck) -> None:
    fabric = build_fabric(name, FabricRequest(20, 4, 100e9, GROUPS, seed=1), 16)
    assert fabric.topology.servers == 20
    for group, rings in fabric.rings.items():
        for ring in rings:
            check_ring(fabric.topology, group, ring)
    if fabric.reconfiguration is None:
        assert set(fabric.rings) == set(GROUPS)
        assert simulate("flow", graph(), fabric).iteration_time_s > 0


@pytest.mark.parametrize("name", networks_of("simulate"))
def test_a_fabric_smaller_than_the_job_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="12 servers are too few for a job of 16; use 16 or more"):
        build_fabric(name, FabricRequest(12, 4, 100e9, GROUPS), 16)


@pytest.mark.parametrize("name", ["ideal-switch", "fat-tree", "oversub-fat-tree", "expander"])
def test_spread_traffic_takes_as_long_on_trunks_as_on_switches(name: str) -> None:
    # Large tensors: a packet is sent faster on a trunk than on one of its links, 43 µs in all here.
    large = graph(1000)
    times = [
        simulate(
            "flow", large, build_fabric(name, FabricRequest(16, 4, 100e9, GROUPS, shape=shape))
        ).iteration_time_s
        for shape in (FabricShape(), SWITCHES)
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-5)


def test_a_fat_tree_of_switches_leaves_the_paths_of_rings_to_the_routes() -> None:
    fabric = build_fabric("fat-tree", FabricRequest(16, 4, 100e9, GROUPS, shape=replace(SWITCHES, arity=6)))
    assert fabric.rings == {}
    assert np.bincount(fabric.topology.src).max() <= 6
    assert len(fabric.routes.paths(0, 15)) == 9


def test_rails_carry_a_ring_each(check_ring: RingCheck) -> None:
    shape = FabricShape(switches=True, leaf_ports=8)
    fabric = build_fabric("rail", FabricRequest(16, 4, 100e9, GROUPS, shape=shape, seed=3))
    leaves = 4  # of a rail: 4 servers below each
    for group, rings in fabric.rings.items():
        assert len(rings) == 4
        for i, ring in enumerate(rings):
            check_ring(fabric.topology, group, ring)
            first = [ring.walk[ring.walk.index(member) + 1] for member in ring.members]
            assert {(leaf - 16) // leaves for leaf in first} == {i}


def test_rails_reduce_at_the_bandwidth_of_all_interfaces() -> None:
    # A ring AllReduce of S bytes sends 2 (n-1)/n S out of each server, here at 4 × 100 Gb/s.
    rows = [TaskRows(COLLECTIVE, 1, size_bytes=1_600_000_000, collective=0, members=(tuple(range(16)),))]
    one = task_graph_from_edges(16, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    ideal_s = 2 * 15 / 16 * 1.6e9 * 8 / 400e9
    for shape in (FabricShape(), SWITCHES, FabricShape(switches=True, leaf_ports=8)):
        fabric = build_fabric("rail", FabricRequest(16, 4, 100e9, [tuple(range(16))], shape=shape))
        time_s = simulate("flow", one, fabric, SimulationOptions(ring_model="bulk")).iteration_time_s
        assert time_s == pytest.approx(ideal_s, rel=1e-3)


def test_given_strides_make_their_rings_and_balanced_or_breadth_first_routes() -> None:
    fabric = build_fabric(
        "topoopt", FabricRequest(12, 4, 25e9, [tuple(range(12))], shape=FabricShape(strides=(1, 5)))
    )
    assert fabric.name == "topoopt"
    assert fabric.topology.offsets == (1, 5, 7, 11)
    assert [ring.stride for ring in fabric.rings[tuple(range(12))]] == [1, 5, 7, 11]
    assert fabric.routes.method == "coin-change"
    shape = FabricShape(strides=(1, 5), routing="single-shortest")
    routes = build_fabric("topoopt", FabricRequest(12, 4, 25e9, shape=shape)).routes
    assert [path.nodes for path in routes.paths(0, 6)] == [(0, 1, 6)]  # not over 5, 7 or 11


def test_without_strides_the_circulant_gets_those_of_an_allreduce() -> None:
    assert build_fabric("topoopt", FabricRequest(128, 4, 25e9)).topology.offsets == (1, 15, 113, 127)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("fat-tree", FabricShape(strides=(1, 5)), "fabric fat-tree: does not accept strides"),
        ("topoopt", FabricShape(arity=4), "fabric topoopt: does not accept arity, got 4"),
        ("fat-tree", FabricShape(arity=5), "arity must be even and at least 2, got 5"),
        ("fat-tree", FabricShape(arity=2), "arity 2 holds 2 servers, got 16; use 4 or more"),
        ("fat-tree", FabricShape(oversubscription=2.0), "does not accept oversubscription"),
        ("rail", FabricShape(leaf_ports=4), "leaves and spines of 4 ports join 8 servers, got 16"),
        ("torus", FabricShape(twisted=True), "a twisted one needs"),
        ("ocs-reconfig", FabricShape(routing="ecmp"), "does not accept routing"),
        (
            "topoopt",
            FabricShape(strides=(1, 3, 5)),
            "strides: 1,3,5 take 6 interfaces of 16 servers, got degree 4",
        ),
        ("topoopt", FabricShape(strides=(1, 16)), "stride 16 joins a server to itself"),
        ("expander", FabricShape(routing="coin-change"), "routing coin-change: needs a circulant"),
        ("expander", FabricShape(routing="ecpm"), "did you mean ecmp"),
        ("dragonflies", FabricShape(), "did you mean dragonfly"),
    ],
)
def test_what_cannot_be_is_one_line(name: str, shape: FabricShape, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        build_fabric(name, FabricRequest(16, 4, 100e9, GROUPS, shape=shape))
    assert "\n" not in str(caught.value)


def test_strides_that_leave_islands_are_refused() -> None:
    with pytest.raises(NoRoute) as caught:
        build_fabric("topoopt", FabricRequest(16, 4, 100e9, shape=FabricShape(strides=(2, 4))))
    assert "\n" not in str(caught.value)


def test_a_changing_fabric_takes_its_delay() -> None:
    fabric = build_fabric(
        "ocs-reconfig", FabricRequest(8, 2, 100e9, shape=FabricShape(delay_s=1e-3, host_forwarding=False))
    )
    assert fabric.beat.delay_s == 1e-3
    assert not fabric.beat.host_forwarding
