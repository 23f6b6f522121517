"""A simulation that has run, with its jobs, its fabric and what it took: the same figures from every simulator."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from topoopt.base.door import shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.base.frame import Frame, frame
from topoopt.routing import Fabric
from topoopt.schema.files import write_atomically, write_csv
from topoopt.simulation.auto_expected_error import ExpectedError
from topoopt.simulation.fbuf import flexnet_graph, write_fbuf
from topoopt.simulation.flow_rows import FlowRow, flow_rows, flow_table
from topoopt.simulation.jobs_together import JobsTogether
from topoopt.simulation.link_statistics import LinkRow, link_statistics
from topoopt.simulation.result import SimResult
from topoopt.simulation.simulated_job import SimulatedJob
from topoopt.simulation.timeline import TimelineRow, timeline
from topoopt.simulation.trace import chrome_trace

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
        Simulated iterations; more than one where the steady state was asked for.
    cpu_s : float
        Of the simulation alone, without loading or compiling.
    peak_memory_bytes : int
        Most that the process has had.
    reason : str
        Why the fidelity chooser took this simulator; empty where it was not asked.
    expected_error : ExpectedError, optional
        How far the time may be from that of packets, where that is known.
    together : JobsTogether, optional
        Of several jobs; ``result`` is then of all of them.
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
        """Of all jobs."""
        return " + ".join(job.name for job in self.jobs)

    @property
    def iteration_time_s(self) -> float:
        """Of the job; of several, the first iteration of the slowest."""
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
            "transport": options.packet.transport if result.packet is not None else None,
            "compat": options.packet.compat,
            "chosen_because": self.reason or None,
            "expected_error": asdict(self.expected_error) if self.expected_error is not None else None,
            "iterations": iterations,
            "planned_iteration_time_s": plan.outcome.iteration_time_s if plan is not None else None,
            "jobs": self._jobs(),
            "tasks": len(result.graph),
            "flows": result.packet.connections if result.packet else len(flow_table(result, self.fabric)),
            **self._counts(),
            "cpu_s": self.cpu_s,
            "peak_memory_bytes": self.peak_memory_bytes,
            "demanded_bytes": result.demanded_bytes / iterations,
            "flow_completion": self.completion_times(),
            "hop_bytes": {str(hop): float(result.hop_bytes[hop]) / iterations for hop in hops},
            "hop_pairs": {str(hop): float(result.hop_pairs[hop]) for hop in hops},
            "links": [row._asdict() for row in self.links()],
        }

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Write who did what when, as CSV."""
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
            For several jobs, or what such a file cannot hold.
        """
        if len(self.jobs) > 1:
            raise InvalidInput("write_fbuf: a .fbuf holds one job; write each one on its own")
        graph = flexnet_graph(self.jobs[0].graph, self.fabric, self.jobs[0].path, drop_rings)
        write_fbuf(graph, os.fspath(path))

    def _algorithms(self) -> dict[str, Any]:
        """Return which algorithm the collectives of each group and size took, where not all took the ring."""
        rows = self.result.algorithms
        return {"collective_algorithms": [asdict(row) for row in rows]} if rows else {}

    def _counts(self) -> dict[str, Any]:
        packet = self.result.packet
        counts: dict[str, Any] = {name: getattr(packet, name) if packet else None for name in _PACKET_COUNTS}
        for name in ("packet_hops", "events"):
            counts[f"{name}_per_cpu_s"] = counts[name] / self.cpu_s if packet and self.cpu_s > 0 else None
        counts["engine_memory_bytes"] = packet.peak_memory_bytes if packet else None
        return counts

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
