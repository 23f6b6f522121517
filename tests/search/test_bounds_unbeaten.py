"""What tries to beat the bounds: wirings of all families, random and searched ones, all algorithms and simulators."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pytest

from tests.search.random_wirings import fabric_of, is_joined, random_arcs, swapped
from topoopt.catalog import ClusterSpec
from topoopt.collectives import ALGORITHMS, ON_WIRINGS
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of, traffic_job
from topoopt.routing import Fabric
from topoopt.search import gap_parts, iteration_bounds, simulated
from topoopt.search.bounds.lower_bound import demands
from topoopt.search.bounds.transfer_windows import windows
from topoopt.search.candidates.candidate import asked_for, fabric_for
from topoopt.search.candidates.optimality_gap import wiring_bounds
from topoopt.search.proposals.mcmc import SearchProblem, make_problem
from topoopt.simulation import COMPUTE, SimResult, SimulationOptions, make_flows
from topoopt.workloads import load_model
from topoopt.workloads.strategy import ParallelStrategy, data_parallel
from topoopt.workloads.traffic import traffic_from_matrix

MakeJob = Callable[..., Job]
RandomStrategy = Callable[[SearchProblem, np.random.Generator, float], ParallelStrategy]

ROUNDING = 1e-9
ALLREDUCE = [*(name for name, row in ALGORITHMS.items() if row.collective == "allreduce"), *ON_WIRINGS]
CASES = 25


def random_cluster(rng: np.random.Generator) -> ClusterSpec:
    return ClusterSpec(
        int(rng.integers(12, 17)),
        int(rng.integers(2, 6)),
        100e9,
        links=str(rng.choice(["duplex", "directed"])),
        link_latency_s=float(rng.choice([0.0, 1e-6, 1e-5])),
    )


def random_matrix(servers: int, rng: np.random.Generator) -> np.ndarray:
    """Return bytes of pairs: few or all of them, alike or of very different weight."""
    matrix = rng.exponential(1e5, (servers, servers)) ** rng.choice([0.2, 1.0, 1.3])
    matrix *= rng.random((servers, servers)) < rng.choice([0.05, 0.3, 1.0])
    np.fill_diagonal(matrix, 0)
    matrix[0, 1] += 1
    whole: np.ndarray = np.floor(matrix)
    return whole


def random_job(
    cluster: ClusterSpec, rng: np.random.Generator, small_job: MakeJob, random_strategy: RandomStrategy
) -> tuple[Job, ParallelStrategy]:
    kind = rng.choice(["matrix", "small", "dlrm"])
    if kind == "matrix":
        traffic = traffic_from_matrix(random_matrix(cluster.servers, rng))
        return traffic_job("matrix", traffic, cluster), ParallelStrategy(cluster.servers, ())
    graph = load_model("dlrm", servers=16, tables=8, rows=1_000_000, bottom_layers=2, top_layers=3)
    if kind == "small":
        graph = operators_of(small_job(cluster.servers, batch=int(rng.choice([1, 64])))).graph
    job = make_job(graph, cluster, JobSettings(memory_check="off"))
    problem = make_problem(job, fabric_for(job, data_parallel(graph, cluster.servers)))
    return job, random_strategy(problem, rng, float(rng.choice([0.0, 0.2, 1.0])))


def random_options(rng: np.random.Generator) -> SimulationOptions:
    algorithm = str(rng.choice([*ALLREDUCE, "auto", "bulk"]))
    if algorithm == "bulk":
        return SimulationOptions(tolerance=0.0, ring_model="bulk")
    return SimulationOptions(tolerance=0.0, algorithm=algorithm)


def check(job: Job, strategy: ParallelStrategy, fabric: Fabric, result: SimResult) -> float:
    """Assert all bounds, and that the parts of the gap are parts of it; return the iteration time over its bound."""
    least = iteration_bounds(job, strategy, result)
    ratio = result.iteration_time_s / least.lower_bound_s
    assert ratio >= 1 - ROUNDING, (result.simulator, result.options.algorithm, least)
    graph, cluster = asked_for(job, strategy, result), job.cluster
    found = windows(graph, cluster)
    run = result.graph, windows(result.graph, cluster), make_flows(result.graph, fabric, result.options)
    rounding_s = ROUNDING * result.iteration_time_s
    delay_s = np.where(result.graph.kind == COMPUTE, 0.0, result.graph.duration_s)
    assert (result.start_s + delay_s >= run[1].release_s - rounding_s).all()
    assert (result.finish_s + run[1].tail_s <= result.iteration_time_s + rounding_s).all()
    here = wiring_bounds(fabric, demands(graph, cluster, found), run)
    assert here.any_routes_s <= here.own_routes_s <= result.iteration_time_s * (1 + ROUNDING)
    parts = gap_parts(job, strategy, fabric, result, least)
    if result.simulator == "analytic":
        assert parts is not None
        seconds = list(asdict(parts).values())
        assert min(seconds) >= 0
        gap_s = max(result.iteration_time_s - least.lower_bound_s, 0.0)
        assert sum(seconds) == pytest.approx(gap_s, rel=1e-9, abs=ROUNDING * result.iteration_time_s)
    return ratio


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_no_wiring_beats_the_bounds(seed: int, small_job: MakeJob, random_strategy: RandomStrategy) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(CASES):
        cluster = random_cluster(rng)
        job, strategy = random_job(cluster, rng, small_job, random_strategy)
        traffic = job_traffic(job, strategy)
        fabric = fabric_of(cluster, random_arcs(cluster, rng), traffic, rng)
        for simulator in ("analytic", "flow"):
            check(job, strategy, fabric, simulated(job, strategy, fabric, simulator, random_options(rng)))


@pytest.mark.parametrize("seed", range(3))
def test_packets_do_not_beat_the_bounds(seed: int, small_job: MakeJob) -> None:
    """Small messages, of which even the packet simulator does many in a short time."""
    rng = np.random.default_rng(seed)
    for _ in range(4):
        cluster = random_cluster(rng)
        traffic = traffic_from_matrix(random_matrix(cluster.servers, rng))
        job, strategy = traffic_job("matrix", traffic, cluster), ParallelStrategy(cluster.servers, ())
        fabric = fabric_of(cluster, random_arcs(cluster, rng), job_traffic(job, strategy), rng)
        check(job, strategy, fabric, simulated(job, strategy, fabric, "packet", random_options(rng)))


@pytest.mark.parametrize(("seed", "degree"), [(0, 2), (1, 3), (2, 4), (3, 5)])
def test_a_search_for_the_fastest_wiring_ends_above_the_bounds(
    seed: int, degree: int, small_job: MakeJob, random_strategy: RandomStrategy
) -> None:
    """Ends of cables are swapped wherever that makes the iteration shorter: what a bound must bear, too."""
    rng = np.random.default_rng(seed)
    cluster = ClusterSpec(12, degree, 100e9)
    job, strategy = random_job(cluster, rng, small_job, random_strategy)
    traffic = job_traffic(job, strategy)
    arcs, best, first = random_arcs(cluster, rng), np.inf, 0.0
    for _ in range(60):
        other = swapped(cluster, arcs, rng)
        if not is_joined(cluster, other):
            continue
        fabric = fabric_of(cluster, other, traffic, np.random.default_rng(0))
        ratio = check(job, strategy, fabric, simulated(job, strategy, fabric))
        first = first or ratio
        if ratio <= best:
            arcs, best = other, ratio
    assert 1 - ROUNDING <= best <= first
