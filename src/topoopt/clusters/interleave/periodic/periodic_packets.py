"""Jobs that repeat and share links, packet by packet: the counterpart of :func:`run_periodic_jobs`."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.clusters.interleave.periodic.periodic_job import JobIterations, LinkUse, PeriodicJob, PeriodicRun
from topoopt.routing import Fabric, Path, explicit_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    TRANSPORTS,
    UNBOUNDED_PACKETS,
    MergedJobs,
    PacketOptions,
    Report,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    merge_jobs,
    place_jobs,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

FASTER = 2.0
"""Bandwidth of connecting links, relative to the largest one: nothing ever waits for them."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Path of a phase.

    Attributes
    ----------
    end : int
        The receiver, in the job's own numbers; its sender is 0.
    bandwidth_bps : float
        The most that goes in.
    links : tuple of int
        The shared links that it crosses.
    """

    end: int
    bandwidth_bps: float
    links: tuple[int, ...]


ROUND_TRIP_S = 20e-6
"""Round-trip time in a data center, without queues."""
LEAST_MARK_PACKETS = 20.0
"""Queue above which packets are marked, at least: weights of 1 to 8 are whole packets then."""
PACKET_BYTES = 9000.0


def periodic_packet_options(
    transport: str, capacity_bps: float, round_trip_s: float = ROUND_TRIP_S
) -> PacketOptions:
    """Return options for jobs that keep their connections: acknowledgments travel, and windows meet marks.

    Marks begin where as many packets wait as are on their way, so that half a window still fills the link. Transports
    that have thresholds of their own keep them.

    Examples
    --------
    >>> periodic_packet_options("mltcp-reno", 100e9).mark_packets
    28.0
    """
    mark = None
    if TRANSPORTS[transport].mark_low_packets >= UNBOUNDED_PACKETS:
        on_the_way = math.ceil(capacity_bps * round_trip_s / 8 / PACKET_BYTES)
        mark = max(LEAST_MARK_PACKETS, float(on_the_way))
    return PacketOptions(transport=transport, acks="reverse", connections="kept", mark_packets=mark)


def run_periodic_packets(
    jobs: Sequence[PeriodicJob],
    capacities_bps: Sequence[float] | Floats,
    *,
    packets: PacketOptions,
    iterations: int,
    round_trip_s: float = ROUND_TRIP_S,
    seed: int = 0,
    on_progress: Report | None = None,
) -> PeriodicRun:
    """Simulate jobs that repeat their profiles on shared links with a transport of the packet simulator.

    A phase is one transfer, over a link of the phase's bandwidth and then the shared ones, in order of their
    numbers. All links mark. A job without a number of iterations repeats as often as fits, alone, into the time of
    the longest job.

    Parameters
    ----------
    packets
        The transport and all about queues; :func:`periodic_packet_options` has those of MLTCP's experiments.
    iterations
        Iterations of each job before the run ends.
    round_trip_s
        Round-trip time without queues.
    seed
        Random seed of the computing noise and of path draws.

    Returns
    -------
    PeriodicRun
        Marks of an iteration are packets that arrived with one, those of the phase's own link among them; for how long
        a link is oversubscribed packets do not know (nan).

    Raises
    ------
    InvalidInput
        For features of the fluid model only: coefficients other than 1, and slots.

    Examples
    --------
    >>> from topoopt.clusters.interleave import CommunicationProfile, Phase
    >>> profile = CommunicationProfile("a", 0.01, (Phase(0.0, 0.002, 10e9),))
    >>> options = periodic_packet_options("reno", 10e9)
    >>> run = run_periodic_packets([PeriodicJob(profile)], [10e9], packets=options, iterations=2)
    >>> (run.jobs[0].time_s * 1e3).round(1).tolist()
    [10.0, 10.0]
    """
    whole("iterations", iterations, 1)
    fabric, lanes = periodic_fabric(jobs, capacities_bps, round_trip_s)
    graphs = [_graph(job, row) for job, row in zip(jobs, lanes, strict=True)]
    lead_s = [_wrapped_s(job) for job in jobs]
    longest_s = max(job.profile.iteration_time_s for job in jobs)
    repeats = [
        job.iterations or math.ceil(iterations * longest_s / job.profile.iteration_time_s - 1e-9)
        for job in jobs
    ]
    begins = [job.begin_s + more_s for job, more_s in zip(jobs, lead_s, strict=True)]
    placement = place_jobs([graph.servers for graph in graphs], fabric.topology.servers)
    merged = merge_jobs(graphs, placement, repeats, fabric.topology.servers, begins)
    graph = merged.graph
    noise = np.array([job.noise for job in jobs])[graph.job]
    if not noise.any():
        noisy = graph
    else:
        drawn = np.random.default_rng(seed).standard_normal(len(graph))
        factor = np.where(graph.kind == COMPUTE, np.maximum(1.0 + noise * drawn, 0.0), 1.0)
        noisy = dataclasses.replace(graph, duration_s=graph.duration_s * factor)
    merged = dataclasses.replace(merged, graph=noisy)
    options = SimulationOptions(seed=seed, packet=packets)
    result = simulate("packet", merged.graph, fabric, options, on_progress)
    ends_s = [merged.ends_s(number, result.finish_s) for number in range(len(jobs))]
    until_s = max(float(ends[min(iterations, len(ends)) - 1]) for ends in ends_s)
    courses = tuple(
        _iterations(job, number, merged, result, ends_s[number], begins[number], until_s)
        for number, job in enumerate(jobs)
    )
    count = len(capacities_bps)
    packet, topology = result.packet, fabric.topology
    assert packet is not None
    rows = [topology.link_id(*ends_of_link(topology.servers, link)) for link in range(count)]
    carried, marks = packet.link_wire_bytes[rows].tolist(), packet.link_marks[rows].tolist()
    links = tuple(
        LinkUse(float(size), math.nan, float(mark)) for size, mark in zip(carried, marks, strict=True)
    )
    return PeriodicRun(courses, links, until_s)


def _wrapped_s(job: PeriodicJob) -> float:
    """Return the delay of a job's iterations where the last phase wraps into the next one."""
    phases = [phase for phase in job.profile.phases if phase.bandwidth_bps > 0]
    if not phases:
        return 0.0
    return min(max(phases[-1].end_s - job.profile.iteration_time_s, 0.0), phases[0].start_s)


def _graph(job: PeriodicJob, lanes: Sequence[Lane]) -> TaskGraph:
    """Return an iteration: computing and phases, one after the other; server 0 sends, the others are ends of lanes."""
    if job.slot_s > 0:
        raise InvalidInput(f"job {job.profile.job}: slots: only fluids wait for them; leave slot_s at 0")
    now_s, rows = _wrapped_s(job), []
    sending = [phase for phase in job.profile.phases if phase.bandwidth_bps > 0]
    for phase, lane in zip(sending, lanes, strict=True):
        rows.append(TaskRows(COMPUTE, 1, max(phase.start_s - now_s, 0.0), server=0))
        rows.append(TaskRows(TRANSFER, 1, src=0, dst=lane.end, size_bytes=round(phase.size_bytes)))
        now_s = phase.end_s
    rows.append(TaskRows(COMPUTE, 1, max(job.profile.iteration_time_s - now_s, 0.0), server=0))
    before = np.arange(len(rows) - 1)
    servers = 1 + max((lane.end for lane in lanes), default=0)
    return task_graph_from_edges(servers, rows, before, before + 1)


def _iterations(
    job: PeriodicJob,
    number: int,
    merged: MergedJobs,
    result: SimResult,
    ends_s: Floats,
    begin_s: float,
    until_s: float,
) -> JobIterations:
    graph, packet = merged.graph, result.packet
    assert packet is not None
    done = int((ends_s <= until_s).sum())
    first, tasks = merged.first_task[number], merged.job_tasks[number]
    rows = first + np.arange(done)[:, None] * (tasks + 1) + np.arange(tasks)[None, :]
    sends = graph.kind[rows] == TRANSFER
    ready_s = np.where(sends, result.start_s[rows], math.inf)
    send_s = ready_s.min(axis=1, initial=math.inf)
    took_s = np.where(sends, result.finish_s[rows] - result.start_s[rows], 0.0)
    return JobIterations(
        job=job.profile.job,
        alone_s=job.profile.iteration_time_s,
        start_s=np.append(begin_s, ends_s)[:done],
        end_s=ends_s[:done],
        send_s=np.where(np.isfinite(send_s), send_s, np.append(begin_s, ends_s)[:done]),
        communication_s=took_s.sum(axis=1),
        marks=packet.task_marks[rows].sum(axis=1).astype(np.float64),
        sent_bytes=float(graph.size_bytes[rows].sum()),
        realignments=0,
    )


def periodic_fabric(
    jobs: Sequence[PeriodicJob], capacities_bps: Sequence[float] | Floats, round_trip_s: float
) -> tuple[Fabric, list[list[Lane]]]:
    """Return the fabric, whose servers are the jobs' one after the other, and the lane of each phase that sends.

    A job has a sender, and a receiver for each kind of phase. All links have an opposite, for acknowledgments. The time
    of the way is that of its first link.

    Raises
    ------
    InvalidInput
        For links and capacities that cannot be, and coefficients other than 1.
    """
    capacities = [float(size) for size in capacities_bps]
    lanes = [_lanes(job, len(capacities)) for job in jobs]
    for link, size in enumerate(capacities):
        if not 0 < size < math.inf:
            raise InvalidInput(f"link {link}: capacity {size:g} b/s: expected a finite bandwidth > 0")
    fast_bps = FASTER * max(
        [*capacities, *(lane.bandwidth_bps for row in lanes for lane in row)], default=1.0
    )
    ends = [1 + max((lane.end for lane in row), default=0) for row in lanes]
    node = servers = sum(ends)
    cables: dict[tuple[int, int], tuple[float, float]] = {}
    for number, size in enumerate(capacities):
        cables[ends_of_link(servers, number)] = (size, 0.0)
    node += 2 * len(capacities)
    paths, sender = [], 0
    for row, count in zip(lanes, ends, strict=True):
        for lane in dict.fromkeys(row):
            gate = (node, node + 1)
            node += 2
            inside = [switch for link in lane.links for switch in ends_of_link(servers, link)]
            nodes = (sender, *gate, *inside, sender + lane.end)
            for pair in itertools.pairwise(nodes):
                cables.setdefault(pair, (fast_bps, 0.0))
            cables[sender, gate[0]] = (fast_bps, round_trip_s / 2)
            cables[gate] = (lane.bandwidth_bps, 0.0)
            paths.append(Path(nodes, 1.0))
        sender += count
    links = [Link(a, b, *size) for (a, b), size in cables.items()]
    links += [Link(b, a, *size) for (a, b), size in cables.items() if (b, a) not in cables]
    topology = topology_from_links("shared links", servers, links, node)
    return Fabric("shared links", topology, explicit_routes(topology, paths), {}), lanes


def ends_of_link(servers: int, link: int) -> tuple[int, int]:
    """Return the switches that a shared link joins, which come behind the servers."""
    return servers + 2 * link, servers + 2 * link + 1


def _lanes(job: PeriodicJob, links: int) -> list[Lane]:
    """Return the lane of each phase that sends; phases of one bandwidth and the same links have one."""
    here, lanes = f"job {job.profile.job}", []
    kinds: dict[tuple[float, tuple[int, ...]], int] = {}
    for place, phase in enumerate(job.profile.phases):
        if phase.bandwidth_bps == 0:
            continue
        for link, part in job.phase_links(place).items():
            if not 0 <= link < links:
                raise InvalidInput(f"{here}: link {link}: there are links 0..{links - 1}; give its capacity")
            if part != 1:
                raise InvalidInput(
                    f"{here}: link {link}: coefficient {part:g}: packets have 1 only; take the fluid simulator"
                )
        kind = (phase.bandwidth_bps, tuple(sorted(job.phase_links(place))))
        lanes.append(Lane(kinds.setdefault(kind, 1 + len(kinds)), *kind))
    return lanes
