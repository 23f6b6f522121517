"""Parts of the gap: they add up, none is negative, and each is what it is called."""

from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, job_traffic, operators_of, traffic_job
from topoopt.plans import GapParts
from topoopt.routing import Fabric, Path, explicit_routes, make_routes
from topoopt.search import gap_parts, iteration_bounds, simulated
from topoopt.search.candidates.candidate import fabric_for, routing_gap, with_rings
from topoopt.simulation import SimulationOptions
from topoopt.topologies import circulant
from topoopt.workloads.strategy import ParallelStrategy, data_parallel
from topoopt.workloads.traffic import traffic_from_matrix

MakeJob = Callable[..., Job]
BPS = 100e9


def parts_of(job: Job, strategy: ParallelStrategy, fabric: Fabric) -> tuple[GapParts, float]:
    """Return the parts, and the gap in seconds; they are checked to be one."""
    result = simulated(job, strategy, fabric)
    least = iteration_bounds(job, strategy, result)
    optimal_s = routing_gap(fabric, job_traffic(job, strategy), result).optimal_load_s
    parts = gap_parts(job, strategy, fabric, result, least, optimal_load_s=optimal_s)
    assert parts is not None
    seconds = asdict(parts)
    assert min(seconds.values()) >= 0
    gap_s = result.iteration_time_s - least.lower_bound_s
    assert sum(seconds.values()) == pytest.approx(gap_s, rel=1e-9, abs=1e-12 * result.iteration_time_s)
    return parts, gap_s


def exchange(matrix: np.ndarray, degree: int, latency_s: float = 0.0) -> Job:
    cluster = ClusterSpec(len(matrix), degree, BPS, link_latency_s=latency_s)
    return traffic_job("exchange", traffic_from_matrix(matrix), cluster)


def ring(servers: int, latency_s: float = 0.0) -> Fabric:
    topology = circulant(servers, [1], BPS)
    topology = replace(topology, latency_s=np.full(len(topology), latency_s))
    return Fabric("ring", topology, make_routes("single-shortest", topology), {})


def test_a_wiring_with_too_many_hops_is_the_wiring() -> None:
    """Strides 1 and 2 among 13 at degree 4 have 4·(1+2+3) hops; Moore's tree 4·1 + 8·2. Sizes are whole packets."""
    matrix = np.full((13, 13), 8936e4)
    topology = circulant(13, [1, 2], BPS)
    topology = replace(topology, latency_s=np.zeros(len(topology)))
    fabric = Fabric("two strides", topology, make_routes("k-shortest", topology), {})
    job = exchange(matrix, 4)
    parts, gap_s = parts_of(job, ParallelStrategy(13, ()), fabric)
    hop_s = 8936e4 * 8 / (4 * BPS)
    assert parts.wiring_s >= (24 - 20) * hop_s * (1 - 1e-9)
    assert parts.rounds_s < 0.01 * gap_s


def test_a_detour_is_the_routing() -> None:
    """All bytes take the long way around a ring of 4, where half of them could take the short one."""
    matrix = np.zeros((4, 4))
    matrix[0, 1] = 8936e4
    job, fabric = exchange(matrix, 2), ring(4)
    fabric = replace(fabric, routes=explicit_routes(fabric.topology, [Path((0, 3, 2, 1), 1.0)]))
    parts, gap_s = parts_of(job, ParallelStrategy(4, ()), fabric)
    assert parts.routing_s == pytest.approx(gap_s, rel=1e-3)
    assert gap_s == pytest.approx(8936e4 * 8 / (2 * BPS), rel=1e-3)


def test_latency_and_packets_that_are_not_full_are_rounds() -> None:
    """One byte between neighbors takes a whole packet, two hops of latency less one, and what opens the connection."""
    matrix = np.zeros((4, 4))
    matrix[0, 1] = 1.0
    parts, gap_s = parts_of(exchange(matrix, 2, 1e-6), ParallelStrategy(4, ()), ring(4, 1e-6))
    assert parts.rounds_s == pytest.approx(gap_s, rel=1e-3)
    assert gap_s == pytest.approx(1e-6 + 8936 * 8 / BPS, rel=1e-3)


@pytest.mark.parametrize("servers", [6, 8, 12])
def test_parts_of_a_plan_add_up(servers: int, small_job: MakeJob) -> None:
    job = small_job(servers)
    strategy = data_parallel(operators_of(job).graph, servers)
    parts_of(job, strategy, with_rings(fabric_for(job, strategy), job_traffic(job, strategy), 4, 0))


def test_what_was_not_simulated_by_links_in_turn_has_no_parts(small_job: MakeJob) -> None:
    job = small_job(6)
    strategy = data_parallel(operators_of(job).graph, 6)
    fabric = fabric_for(job, strategy)
    result = simulated(job, strategy, fabric, "flow", SimulationOptions())
    assert gap_parts(job, strategy, fabric, result, iteration_bounds(job, strategy, result)) is None
