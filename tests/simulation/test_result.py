"""Bytes on links, bandwidth tax, path lengths and timelines of simulated jobs."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    SIMULATORS,
    IterationCosts,
    SimResult,
    TimelineRow,
    build_task_graph,
    simulate,
    timeline,
)
from topoopt.topologies import Ring, circulant, ideal_switch
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

SERVERS = 128
FABRIC_SERVERS = tuple(range(SERVERS))


def topoopt(servers: int, strides: list[int], bandwidth_bps: float = 100e9) -> Fabric:
    topology = circulant(servers, strides, bandwidth_bps)
    rings = []
    for offset in topology.offsets:
        order = tuple(offset * i % servers for i in range(servers))
        rings.append(Ring(offset, order, order))
    routes = make_routes("coin-change", topology)
    return Fabric("topoopt", topology, routes, {tuple(range(servers)): tuple(rings)})


def switch(servers: int, bandwidth_bps: float) -> Fabric:
    topology = ideal_switch(servers, bandwidth_bps)
    return Fabric("ideal-switch", topology, make_routes("single-shortest", topology), {})


def job(model: str, servers: int, factor: int = 1, **overrides: Any) -> Job:
    graph = load_model(model, servers=servers, **overrides)
    cluster = ClusterSpec(servers, degree=4, link_bandwidth_bps=100e9)
    return make_job(graph, cluster, JobSettings(embedding_bytes_factor=factor, memory_check="off"))


def run(of: Job, on: Fabric, simulator: str = "analytic", iterations: int = 1) -> SimResult:
    graph = build_task_graph(
        operators_of(of).graph,
        data_parallel(operators_of(of).graph, of.cluster.servers),
        operators_of(of).timer,
        IterationCosts(
            of.cluster.accelerators_per_server,
            of.cluster.intra_server_bandwidth_bps,
            of.settings.embedding_bytes_factor,
            iterations,
        ),
    )
    return simulate(simulator, graph, on)


@pytest.fixture(scope="module")
def alltoall_study() -> SimResult:
    """DLRM with a table on each of 128 servers, batch 64 per accelerator, on a circulant of degree 4."""
    return run(job("dlrm-alltoall", SERVERS, factor=2, batch_per_accelerator=64), topoopt(SERVERS, [1, 13]))


def test_dlrm_puts_the_published_bytes_on_every_link() -> None:
    """As in the authors' released outputs: 2·127/128 · 1,359,273,988 / 8 bytes: a table a server, eight rings."""
    study = job("dlrm-alltoall", SERVERS)
    assert operators_of(study).graph.dense_parameter_bytes == 1_359_273_988
    result = run(study, topoopt(SERVERS, [1, 5, 13, 39]))
    hops = np.arange(len(result.hop_bytes))
    rings = result.hop_bytes[1] - _pairs_bytes(result)[1]
    assert rings / len(result.link_bytes) == pytest.approx(337_163_664, abs=1)
    assert result.link_bytes.sum() == pytest.approx(float(result.hop_bytes @ hops))


def _pairs_bytes(result: SimResult) -> list[float]:
    """Return transferred bytes by hops: every pair of table hosts exchanges as much as any other."""
    total = float(result.graph.size_bytes[result.graph.src >= 0].sum())
    return (result.hop_pairs * total / result.hop_pairs.sum()).tolist()  # type: ignore[no-any-return]


def test_path_lengths_of_all_pairs_are_those_of_the_published_circulant(alltoall_study: SimResult) -> None:
    """Path lengths of C128(±1,±13), cumulative."""
    shares = np.cumsum(alltoall_study.hop_pairs)[1:] / (SERVERS * (SERVERS - 1))
    published = [0.0315, 0.0945, 0.189, 0.315, 0.472, 0.638, 0.780, 0.890, 0.969, 1]
    assert shares.tolist() == pytest.approx(published, abs=6e-4)


def test_bandwidth_tax_of_the_all_to_all_study(alltoall_study: SimResult) -> None:
    """Published: 1.11 at batch 64 and degree 4; formula (1 + r·h)/(1 + r) with r = 0.8·batch/2048."""
    assert alltoall_study.bandwidth_tax == pytest.approx(1.11, abs=0.005)
    ratio, hops = 0.8 * 64 / 2048, 5.622
    assert alltoall_study.bandwidth_tax == pytest.approx((1 + ratio * hops) / (1 + ratio), abs=0.005)


def test_switches_forward_without_tax() -> None:
    result = run(job("dlrm", 16), switch(16, 400e9))
    assert result.bandwidth_tax == pytest.approx(1.0)
    assert result.hop_bytes[2] == pytest.approx(result.demanded_bytes)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_exposed_communication_is_what_compute_does_not_hide(simulator: str) -> None:
    of = job("vgg16", 16)
    hidden, bare = run(of, topoopt(16, [1, 5]), simulator), run(of, switch(16, 25e9), simulator)
    assert hidden.exposed_communication_s < 0.005 * hidden.compute_time_s
    assert bare.exposed_communication_s == pytest.approx(bare.iteration_time_s - hidden.compute_time_s)
    # the AllReduce of 1.157 GB over 16 servers at 25 Gb/s alone takes 694 ms
    assert bare.iteration_time_s > 0.694


def test_summary_and_text_hold_the_figures(alltoall_study: SimResult) -> None:
    summary = alltoall_study.summary()
    assert summary["link_bytes_max"] == alltoall_study.link_bytes.max()
    assert math.isclose(
        float(summary["iteration_time_s"]) - float(summary["compute_time_s"]),
        float(summary["exposed_communication_s"]),
    )
    assert str(alltoall_study).startswith("analytic: ")


def test_timeline_has_a_bar_for_everything_a_server_does() -> None:
    result = run(job("vgg16", 4), topoopt(4, [1]))
    rows = timeline(result, server=2)
    assert {row.server for row in rows} == {2}
    assert {row.phase for row in rows} == {"forward", "backward", "allreduce"}
    compute = [row for row in rows if row.phase in ("forward", "backward")]
    assert all(first.finish_s <= second.start_s + 1e-12 for first, second in itertools.pairwise(compute))
    assert max(row.finish_s for row in rows) == result.iteration_time_s
    assert len(timeline(result)) == 4 * len(rows)


def test_timeline_counts_a_transfer_where_it_is_sent() -> None:
    result = run(job("dlrm", 16), topoopt(16, [1, 5]))
    rows = [row for row in timeline(result) if row.phase == "activation"]
    senders = {row.server: row.operator for row in rows}
    assert len(senders) == 16
    assert len(set(senders.values())) == 16
    assert all(isinstance(row, TimelineRow) and row.finish_s > row.start_s for row in rows)


def test_equal_runs_give_equal_results() -> None:
    of, on = job("dlrm", 16), topoopt(16, [1, 5])
    first, second = run(of, on, "flow"), run(of, on, "flow")
    assert first.finish_s.tobytes() == second.finish_s.tobytes()


def test_the_last_iteration_is_no_part_of_the_steady_state() -> None:
    """Nothing follows it, so it has the links to itself: here it takes 3 % less than the others."""
    of, on = job("dlrm", 8), topoopt(8, [1, 3], 25e9)
    three, five = (run(of, on, "flow", iterations) for iterations in (3, 5))
    assert three.iteration_time_s == pytest.approx(five.iteration_time_s, rel=5e-3)
    *others, last = np.diff([five.finish_s[five.graph.iteration == i].max() for i in range(5)])
    assert last < 0.98 * min(others)
    assert min(others) <= five.iteration_time_s <= max(others)
