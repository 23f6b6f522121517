"""A finished simulation with its jobs, fabric and cost: the same figures from every simulator.

The timeline as Chrome trace events, which Perfetto and chrome://tracing open: lanes of bars for each server.

Every server is a process. Each accelerator is a lane (a thread, in the format's words); transfers that overlap lie
in as many network lanes as it takes, so that no two bars of a lane overlap.
"""

import heapq
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.schema.files import write_atomically, write_csv
from topoopt.simulation.flexnet import flexnet_graph, write_fbuf
from topoopt.simulation.jobs.simulated_job import SimulatedJob
from topoopt.simulation.jobs.slowdown import JobsTogether
from topoopt.simulation.link_counters import FlowRow, flow_rows, flow_table
from topoopt.simulation.result import SimResult, TimelineRow, places, timeline
from topoopt.simulation.simulators import ExpectedError
from topoopt.simulation.task_graph import COLLECTIVE, COLLECTIVES, COMPUTE, PHASES, TRANSFER, TaskGraph

NETWORK = 1000
"""Number of the first network lane of a server; accelerators have the numbers below."""
NS = 1e9
"""Bars begin and end at whole nanoseconds, the resolution of the viewers."""


class LinkRow(NamedTuple):
    """One directed link; of a fabric of circuits one ordered pair of servers, with all circuits that it may get.

    ``utilization`` is of the time until the last task is done. ``None`` where the simulator does not record it.
    """

    src: int
    dst: int
    bandwidth_bps: float
    bytes: float
    utilization: float
    packets: int | None
    marks: int | None
    drops: int | None
    queue_peak_bytes: int | None


PERCENTILES = (50, 90, 99, 100)
_PACKET_COUNTS = (
    *("packets", "delivered", "packet_hops", "events", "marks", "drops", "timeouts", "resent", "pauses"),
)


@shows_itself
@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulation of one job, or of several on one fabric.

    Attributes
    ----------
    iterations : int
        Simulated iterations; more than one where the steady state was requested.
    cpu_s : float
        CPU time of the simulation alone, without loading or compiling.
    peak_memory_bytes : int
        Most that the process has had.
    reason : str
        Reason why the fidelity chooser took this simulator; empty where it was not used.
    expected_error : ExpectedError, optional
        Expected deviation from the packet simulator, where known.
    together : JobsTogether, optional
        Results of several jobs; ``result`` then covers all of them.
    """

    jobs: tuple[SimulatedJob, ...]
    fabric: Fabric
    result: SimResult
    iterations: int
    cpu_s: float
    peak_memory_bytes: int
    reason: str = ""
    expected_error: ExpectedError | None = None
    together: JobsTogether | None = None

    FLOW_COLUMNS: ClassVar[tuple[str, ...]] = FlowRow._fields
    LINK_COLUMNS: ClassVar[tuple[str, ...]] = LinkRow._fields

    @property
    def name(self) -> str:
        """Names of all jobs."""
        return " + ".join(job.name for job in self.jobs)

    @property
    def iteration_time_s(self) -> float:
        """Iteration time of the job; with several, the first iteration of the slowest."""
        return self.result.iteration_time_s if self.together is None else max(self.together.first_s)

    def links(self) -> list[LinkRow]:
        """Return the links; bytes are those of one iteration, everything else of the whole run."""
        rows = link_statistics(self.result, self.fabric)
        return [row._replace(bytes=row.bytes / self.iterations) for row in rows]

    def flows(self) -> Iterator[FlowRow]:
        """Yield every flow with its completion time, if they were logged."""
        return iter(flow_rows(self.result, self.fabric))

    def completion_times(self) -> dict[str, float] | None:
        """Return percentiles of the flow completion times and slowdowns of all connections, if they were logged."""
        flows = self.result.flows
        if flows is None or not len(flows):
            return None
        times_s = np.percentile(flows.completion_s, PERCENTILES).tolist()
        slowdowns = np.percentile(flows.slowdown, PERCENTILES).tolist()
        named = dict(zip((f"p{rank}_s" for rank in PERCENTILES), times_s, strict=True))
        return {**named, **dict(zip((f"p{rank}_slowdown" for rank in PERCENTILES), slowdowns, strict=True))}

    def to_frame(self) -> Frame:
        """Return a row for each link, as pandas has it."""
        return frame(row._asdict() for row in self.links())

    def to_json(self) -> dict[str, Any]:
        """Return all figures: the same keys from every simulator, None where one has no meaning."""
        result, iterations, plan = self.result, self.iterations, self.jobs[0].plan
        hops, options = range(1, len(result.hop_pairs)), result.options
        packet = result.packet
        counts: dict[str, Any] = {name: getattr(packet, name) if packet else None for name in _PACKET_COUNTS}
        for name in ("packet_hops", "events"):
            counts[f"{name}_per_cpu_s"] = counts[name] / self.cpu_s if packet and self.cpu_s > 0 else None
        counts["engine_memory_bytes"] = packet.peak_memory_bytes if packet else None
        return {
            "model": self.name,
            "servers": sum(job.graph.servers for job in self.jobs),
            "fabric": self.fabric.name,
            "fabric_servers": self.fabric.topology.servers,
            **result.summary(),
            "iteration_time_s": self.iteration_time_s,
            "bubble_s": result.bubble_s if self.together is None else None,
            "link_bytes_max": result.link_bytes_max / iterations,
            "collective": options.ring_model if options.algorithm == "ring" else options.algorithm,
            **self._algorithms(),
            "seed": options.seed,
            "sharing": "fair" if options.aggressiveness is None else "mltcp",
            "split": options.split if result.packet is None else None,
            "tolerance": options.tolerance if result.simulator == "flow" else None,
            "share_tolerance": options.share_tolerance if result.simulator == "flow" else None,
            "transport": options.packet.transport if result.packet is not None else None,
            "compat": options.packet.compat,
            "chosen_because": self.reason or None,
            "expected_error": asdict(self.expected_error) if self.expected_error is not None else None,
            "iterations": iterations,
            "planned_iteration_time_s": plan.iteration_time_s if plan is not None else None,
            "jobs": self._jobs(),
            "tasks": len(result.graph),
            "flows": result.packet.connections if result.packet else len(flow_table(result, self.fabric)),
            **counts,
            **fields_of(self, "cpu_s", "peak_memory_bytes"),
            "demanded_bytes": result.demanded_bytes / iterations,
            "flow_completion": self.completion_times(),
            "hop_bytes": {str(hop): float(result.hop_bytes[hop]) / iterations for hop in hops},
            "hop_pairs": {str(hop): float(result.hop_pairs[hop]) for hop in hops},
            "links": [row._asdict() for row in self.links()],
        }

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline as CSV."""
        write_csv(path, TimelineRow._fields, timeline(self.result))

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the same task by task, as a trace for Perfetto (JSON)."""
        trace = chrome_trace(self.result, f"{self.name} on {self.fabric.name}")
        write_atomically(os.fspath(path), json.dumps(trace, separators=(",", ":"), allow_nan=False))

    def write_fbuf(self, path: str | os.PathLike[str], drop_rings: bool = False) -> None:
        """Write tasks and fabric as ``.fbuf`` or ``.fbuf.xz``, for the authors' simulator to replay.

        Raises
        ------
        InvalidInput
            For several jobs, or if the format cannot represent it.
        """
        if len(self.jobs) > 1:
            raise InvalidInput("write_fbuf: a .fbuf holds one job; write each one on its own")
        graph = flexnet_graph(self.jobs[0].graph, self.fabric, self.jobs[0].path, drop_rings)
        write_fbuf(graph, os.fspath(path))

    def _algorithms(self) -> dict[str, Any]:
        rows = self.result.algorithms
        return {"collective_algorithms": [asdict(row) for row in rows]} if rows else {}

    def _jobs(self) -> list[dict[str, Any]] | None:
        together = self.together
        if together is None:
            return None
        marks = together.marks or (None,) * len(self.jobs)
        rows = zip(
            *(self.jobs, together.placement, together.first_s, together.mean_s, together.iterations),
            *(together.begin_s, together.iteration_times_s, marks),
            strict=True,
        )
        return [
            {
                "file": job.path,
                "model": job.name,
                "servers": list(servers),
                "first_iteration_time_s": first_s,
                "mean_iteration_time_s": mean_s,
                "iterations": count,
                "begin_s": begin_s,
                "iteration_times_s": times_s.tolist(),
                "ecn_marks": job_marks,
            }
            for job, servers, first_s, mean_s, count, begin_s, times_s, job_marks in rows
        ]


def link_statistics(result: SimResult, fabric: Fabric) -> list[LinkRow]:
    """Return the links in the order of the topology; pairs of servers that never had bytes are left out."""
    src, dst, bandwidth_bps = _links(fabric)
    duration_s = float(result.finish_s.max(initial=0.0))
    seconds = result.link_bytes * 8.0 / bandwidth_bps
    share = seconds / duration_s if duration_s else seconds
    known = [column.tolist() for column in (src, dst, bandwidth_bps, result.link_bytes, share)]
    packet = result.packet
    if packet is None:
        counted = [[None] * len(src)] * 4
    else:
        counts = packet.link_packets, packet.link_marks, packet.link_drops, packet.link_queue_peak_bytes
        counted = [column.tolist() for column in counts]
    rows = map(LinkRow._make, zip(*known, *counted, strict=True))
    return [row for row in rows if row.bytes or fabric.reconfiguration is None]


def _links(fabric: Fabric) -> tuple[Ints, Ints, Floats]:
    topology, rule = fabric.topology, fabric.reconfiguration
    wired = topology.src.astype(np.int64), topology.dst.astype(np.int64), topology.bandwidth_bps
    if rule is None:
        return wired
    if isinstance(rule, RegionalReconfiguration):
        pairs = rule.pairs(topology.servers)
        optical = (*pairs, np.full(len(pairs[0]), rule.degree * rule.bandwidth_bps))
        return tuple(np.concatenate(both) for both in zip(wired, optical, strict=True))  # type: ignore[return-value]
    src, dst = np.divmod(np.arange(topology.servers**2), topology.servers)
    return src, dst, np.full(len(src), rule.degree * rule.bandwidth_bps)


def chrome_trace(result: SimResult, title: str = "topoopt") -> dict[str, Any]:
    """Return a document in the Trace Event Format, to be written as JSON.

    Bars are complete events (``ph`` X) with times in µs. A transfer is a bar of the server that sends, a collective
    one of every member; both begin when they are ready to use the network. Tasks of no duration are omitted.
    """
    events = [*_compute(result), *_network(result)]
    events.sort(key=lambda event: (event["pid"], event["tid"], event["ts"]))
    return {
        "traceEvents": [*_names(events), *events],
        "displayTimeUnit": "ms",
        "otherData": {"title": title, "simulator": result.simulator},
    }


def _names(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    lanes = sorted({(event["pid"], event["tid"]) for event in events})
    for server in sorted({pid for pid, _ in lanes}):
        yield _metadata("process_name", server, 0, name=f"server {server}")
        yield _metadata("process_sort_index", server, 0, sort_index=server)
    for server, lane in lanes:
        name = f"network {lane - NETWORK}" if lane >= NETWORK else f"accelerator {lane}"
        yield _metadata("thread_name", server, lane, name=name)
        yield _metadata("thread_sort_index", server, lane, sort_index=lane)


def _metadata(what: str, pid: int, tid: int, **values: object) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": values}


def _compute(result: SimResult) -> Iterator[dict[str, Any]]:
    graph = result.graph
    begin, end = _whole_ns(result)
    for task in np.flatnonzero((graph.kind == COMPUTE) & (end > begin)).tolist():
        server, lane = int(graph.server[task]), int(graph.accelerator[task])
        yield _bar(graph, task, server, lane, int(begin[task]), int(end[task]))


def _network(result: SimResult) -> Iterator[dict[str, Any]]:
    graph = result.graph
    begin, end = _whole_ns(result)
    several = (graph.kind == TRANSFER) & (graph.src != graph.dst) | (np.diff(graph.member_first) > 1)
    task, server = places(graph)
    shown = (several & (end > begin))[task]
    task, server = task[shown], server[shown]
    order = np.lexsort((task, begin[task], server))
    ends: list[tuple[int, int]] = []  # of the lanes in use: when the last bar ends, lane
    here, lanes = -1, 0
    for one, place in zip(task[order].tolist(), server[order].tolist(), strict=True):
        if place != here:
            here, ends, lanes = place, [], 0
        start, stop = int(begin[one]), int(end[one])
        if ends and ends[0][0] <= start:
            lane = heapq.heapreplace(ends, (stop, ends[0][1]))[1]
        else:
            lane, lanes = lanes, lanes + 1
            heapq.heappush(ends, (stop, lane))
        yield _bar(graph, one, place, NETWORK + lane, start, stop)


def _whole_ns(result: SimResult) -> tuple[Ints, Ints]:
    """Return begin and end of each task's bar; communication starts after its delay."""
    graph = result.graph
    delay_s = np.where(graph.kind == COMPUTE, 0.0, graph.duration_s)
    begin = np.rint((result.start_s + delay_s) * NS).astype(np.int64)
    return begin, np.rint(result.finish_s * NS).astype(np.int64)


def _bar(graph: TaskGraph, task: int, server: int, lane: int, begin_ns: int, end_ns: int) -> dict[str, Any]:
    phase = PHASES[graph.phase[task]]
    operator = graph.operator[task]
    name = graph.operator_names[operator] if operator >= 0 else ""
    arguments: dict[str, object] = {"task": task, "iteration": int(graph.iteration[task])}
    kind = int(graph.kind[task])
    if kind != COMPUTE:
        arguments["bytes"] = int(graph.size_bytes[task])
    if kind == TRANSFER:
        arguments["to"] = int(graph.dst[task])
    if kind == COLLECTIVE:
        arguments["collective"] = COLLECTIVES[graph.collective[task]]
        arguments["members"] = int(graph.member_first[task + 1] - graph.member_first[task])
    return {
        "ph": "X",
        "name": f"{name} {phase}".strip(),
        "cat": phase,
        "pid": server,
        "tid": lane,
        "ts": begin_ns / 1e3,
        "dur": (end_ns - begin_ns) / 1e3,
        "args": arguments,
    }
