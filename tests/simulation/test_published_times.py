"""Reproduction: iteration times of the authors' own runs, data parallel with tables placed in turn.

The figures are those of the original fluid simulator (FlexNet) for 16 and 128 servers of 4 A100 with the
published profiles; tolerances are those within which ours land, stated a little rounded up.
"""

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import IterationCosts, SimulationOptions, TaskGraph, build_task_graph, simulate
from topoopt.topologies import Ring, circulant, ideal_switch
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

FLUID = ("analytic", "flow")
"""The published times are a fluid model's; packets are held to those of the packet simulator."""

pytestmark = [pytest.mark.reproduction, pytest.mark.parametrize("simulator", FLUID)]

STRIDES = {(16, 4): [1, 5], (16, 8): [1, 3, 5, 7], (128, 4): [1, 13], (128, 8): [1, 5, 13, 39]}


def job(model: str, servers: int) -> TaskGraph:
    cluster = ClusterSpec(servers, degree=4, link_bandwidth_bps=100e9)
    of = make_job(load_model(model, servers=servers), cluster, JobSettings(memory_check="off"))
    return build_task_graph(
        operators_of(of).graph,
        data_parallel(operators_of(of).graph, servers),
        operators_of(of).timer,
        IterationCosts(4, 200e9),
    )


def topoopt(servers: int, degree: int) -> Fabric:
    topology = circulant(servers, STRIDES[servers, degree], 100e9)
    orders = [tuple(offset * i % servers for i in range(servers)) for offset in topology.offsets]
    rings = tuple(Ring(offset, order, order) for offset, order in zip(topology.offsets, orders, strict=True))
    return Fabric("topoopt", topology, make_routes("coin-change", topology), {tuple(range(servers)): rings})


def switch(servers: int, bandwidth_bps: float) -> Fabric:
    topology = ideal_switch(servers, bandwidth_bps)
    return Fabric("ideal-switch", topology, make_routes("single-shortest", topology), {})


def time_ms(simulator: str, graph: TaskGraph, on: Fabric, ring_model: str) -> float:
    return simulate(simulator, graph, on, SimulationOptions(ring_model=ring_model)).iteration_time_s * 1e3


@pytest.mark.parametrize("ring_model", ["stepped", "bulk"])
@pytest.mark.parametrize(
    ("model", "servers", "degree", "published_ms", "tolerance"),
    [
        ("vgg16", 16, 4, 100.52, 0.015),
        ("candle", 16, 8, 132.6, 0.04),
        ("vgg16", 128, 4, 100.6, 0.015),
        ("candle", 128, 4, 4520, 0.05),
        ("candle", 128, 8, 2711, 0.05),
    ],
)
def test_on_topoopt(
    simulator: str,
    ring_model: str,
    model: str,
    servers: int,
    degree: int,
    published_ms: float,
    tolerance: float,
) -> None:
    found = time_ms(simulator, job(model, servers), topoopt(servers, degree), ring_model)
    assert found == pytest.approx(published_ms, rel=tolerance)


@pytest.mark.parametrize(
    ("model", "servers", "gbps", "published_ms", "tolerance"),
    [
        ("vgg16", 16, 100, 212.0, 0.015),
        ("vgg16", 16, 200, 133.66, 0.015),
        ("vgg16", 16, 400, 100.48, 0.001),
        ("candle", 16, 100, 759.6, 0.04),
        ("candle", 16, 200, 403.1, 0.04),
        ("candle", 16, 400, 224.8, 0.04),
        # ours hide 9 ms more of every CANDLE run, which shows most here
        ("candle", 16, 800, 139.0, 0.07),
        ("vgg16", 128, 100, 221.5, 0.015),
        ("candle", 128, 400, 4654, 0.05),
    ],
)
def test_through_an_ideal_switch(
    simulator: str, model: str, servers: int, gbps: float, published_ms: float, tolerance: float
) -> None:
    found = time_ms(simulator, job(model, servers), switch(servers, gbps * 1e9), "bulk")
    assert found == pytest.approx(published_ms, rel=tolerance)


def test_vgg_against_packets(simulator: str) -> None:
    """The original packet simulator gives 210.4035 ms for VGG on a 100 Gb/s switch."""
    found = time_ms(simulator, job("vgg16", 16), switch(16, 100e9), "stepped")
    assert found == pytest.approx(210.4035, rel=0.002)
