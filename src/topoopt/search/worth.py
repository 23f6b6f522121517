"""What a strategy is worth on a fabric: its task graph simulated, its bounds, its routing gap."""

import numpy as np

from topoopt.finder import lay_rings
from topoopt.job import Job
from topoopt.plan import Bounds, Outcome, RoutingGap
from topoopt.routing import Fabric, link_loads, optimal_max_load
from topoopt.search.bounds import Released, lower_bounds
from topoopt.simulate import (
    COLLECTIVE,
    TRANSFER,
    SimResult,
    SimulationOptions,
    TaskGraph,
    build_task_graph,
    simulate,
)
from topoopt.strategy import ParallelStrategy, extract_traffic
from topoopt.traffic import Traffic


def task_graph_of(job: Job, strategy: ParallelStrategy, iterations: int = 1) -> TaskGraph:
    """Return the task graph of a job under a strategy."""
    return build_task_graph(
        job.graph,
        strategy,
        job.timer,
        job.cluster.accelerators_per_server,
        job.cluster.intra_server_bandwidth_bps,
        job.settings.embedding_bytes_factor,
        iterations,
    )


def traffic_of(job: Job, strategy: ParallelStrategy) -> Traffic:
    """Return what one iteration of a job moves under a strategy."""
    return extract_traffic(job.graph, strategy, job.global_batch, job.settings.embedding_bytes_factor)


def with_rings(fabric: Fabric, traffic: Traffic, degree: int, seed: int) -> Fabric:
    """Return the fabric with rings of exactly the groups in the traffic."""
    rings = {
        group.members: fabric.rings.get(group.members)
        or lay_rings(fabric.topology, fabric.routes, group.members, degree, seed)
        for group in traffic.allreduce
    }
    return Fabric(fabric.name, fabric.topology, fabric.routes, rings)


def simulated(
    job: Job,
    strategy: ParallelStrategy,
    fabric: Fabric,
    simulator: str = "analytic",
    options: SimulationOptions | None = None,
    iterations: int = 1,
) -> SimResult:
    """Simulate one iteration, or the steady state of several."""
    graph = task_graph_of(job, strategy, iterations)
    return simulate(simulator, graph, fabric, options or SimulationOptions())


def outcome(result: SimResult) -> Outcome:
    """Return the figures of a simulation that a plan keeps."""
    return Outcome(
        result.simulator,
        result.iteration_time_s,
        result.compute_time_s,
        result.exposed_communication_s,
        result.link_bytes_max,
        result.bandwidth_tax,
    )


def bounds(job: Job, result: SimResult) -> Bounds:
    """Return the lower bounds of the simulated strategy on the job's cluster."""
    graph = result.graph
    transfers = np.flatnonzero(graph.kind == TRANSFER)
    transfers = transfers[graph.src[transfers] != graph.dst[transfers]]
    collectives = np.flatnonzero(graph.kind == COLLECTIVE)
    count = np.diff(graph.member_first)[collectives]
    share = np.where(count > 1, 2.0 * (count - 1) / np.maximum(count, 1), 0.0) * graph.size_bytes[collectives]
    released = Released(
        graph.src[transfers],
        graph.dst[transfers],
        graph.size_bytes[transfers].astype(np.float64),
        result.compute_finish_s[transfers],
        graph.member,
        np.repeat(share, count),
        np.repeat(result.compute_finish_s[collectives], count),
    )
    return lower_bounds(job.cluster, result.compute_time_s, released)


def routing_gap(fabric: Fabric, traffic: Traffic, result: SimResult) -> RoutingGap:
    """Compare the busiest link with the best routing of the same transfers beside the same rings.

    Loads are in seconds of link time; the rings' bytes stay where they are.
    """
    demand = traffic.mp_matrix()
    seconds_per_byte = 8.0 / fabric.topology.bandwidth_bps
    moved = link_loads(fabric.topology, fabric.routes, demand)
    background = np.maximum(result.link_bytes - moved, 0.0)
    busiest = float((result.link_bytes * seconds_per_byte).max(initial=0.0))
    best = optimal_max_load(fabric.topology, demand, background)
    return RoutingGap(busiest, min(best.lower_bound_s, busiest), best.exact, best.method)
