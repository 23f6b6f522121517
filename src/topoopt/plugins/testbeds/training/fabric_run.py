"""Results of a run on one fabric: times, bytes of every link, gradients, and the effect of a cut."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import write_counters
from topoopt.plugins.testbeds.network import CounterReading
from topoopt.plugins.testbeds.training.job import Scale
from topoopt.plugins.testbeds.training.ranks import Iterations
from topoopt.routing import Fabric, Routes
from topoopt.simulation import SimulationOptions, TaskGraph, simulate
from topoopt.topologies import Ring

MEASURED_BESIDE = ("analytic", "flow", "packet")
REFERENCE = "flow"
"""Simulator with which measured times and bytes are compared."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """An iteration as simulated at the scale of a testbed.

    Attributes
    ----------
    iteration_times_s : mapping from simulators to seconds
    compute_time_s : float
        Iteration time with free communication.
    link_bytes : mapping from (src, dst) to bytes
        Payload on every link of the fabric, by its nodes.
    ready_s : tuple of float
        Time at which each task is ready.
    """

    iteration_times_s: Mapping[str, float]
    compute_time_s: float
    link_bytes: Mapping[tuple[int, int], float]
    ready_s: tuple[float, ...]

    @property
    def iteration_time_s(self) -> float:
        """Prediction of the simulator that measured times are compared with."""
        return self.iteration_times_s[REFERENCE]


@dataclass(frozen=True, slots=True)
class LinkBytes:
    """Bytes of a link in an iteration.

    Attributes
    ----------
    src, dst : int
        Servers; a switch is number ``servers``.
    measured_bytes : float
        Bytes that the kernel counted at the sender, with all headers and acknowledgments.
    predicted_bytes : float
        Payload.
    """

    src: int
    dst: int
    measured_bytes: float
    predicted_bytes: float

    @property
    def excess(self) -> float:
        """Measured over predicted, minus 1; 0 where nothing was to be sent."""
        return self.measured_bytes / self.predicted_bytes - 1 if self.predicted_bytes else 0.0


@dataclass(frozen=True, slots=True)
class CutLink:
    """A link that was cut while an iteration ran, and the reaction.

    Attributes
    ----------
    src, dst : int
    iteration : int
        Iteration in which it was cut, counted from 0 at the first measured one.
    before_s : float
        Median of the iterations before.
    during_s : float
        The iteration in which it was cut; it went on after the repair.
    after_s : float
        Median of those after it.
    predicted_s : float
        Prediction for the repaired fabric.
    """

    src: int
    dst: int
    iteration: int
    repair: str
    before_s: float
    during_s: float
    after_s: float
    predicted_s: float


@dataclass(frozen=True, eq=False)
class FabricRun:
    """A job on one fabric of a testbed, all in the testbed's seconds and bytes.

    Attributes
    ----------
    server_bandwidth_bps : float
        Bandwidth per server.
    forwarding : str
        Forwarding mechanism of the servers.
    build_s, start_s : float
        Time to build the network, and to connect all processes.
    readings : tuple of CounterReading
        Counters of all links over the measured iterations, where requested.
    gradient_error : float
        Largest difference of a gradient of the small model from that of one process, over the largest gradient.
    """

    fabric: str
    server_bandwidth_bps: float
    forwarding: str
    prediction: Prediction
    iterations: Iterations
    links: tuple[LinkBytes, ...]
    dropped_packets: int
    gradient_error: float
    build_s: float
    start_s: float
    cut: CutLink | None = None
    readings: tuple[CounterReading, ...] = ()

    @property
    def iteration_time_s(self) -> float:
        """Median of the measured iterations; where a link was cut, of those before."""
        return self.cut.before_s if self.cut is not None else self.iterations.median_s

    @property
    def excess(self) -> float:
        """Measured over simulated time, minus 1."""
        return self.iteration_time_s / self.prediction.iteration_time_s - 1

    @property
    def largest_link_excess(self) -> float:
        """Largest relative difference in bytes among links that carry at least a hundredth of the busiest one's."""
        most = max((link.predicted_bytes for link in self.links), default=0.0)
        differences = [link.excess for link in self.links if link.predicted_bytes >= most / 100]
        return max(differences, key=abs, default=0.0)

    def write_counters(self, path: str | os.PathLike[str]) -> None:
        """Write the cumulative bytes of every link over time, as CSV; :func:`topoopt.phases` reads it.

        Raises
        ------
        InvalidInput
            If nothing was counted over time, or the file cannot be written.
        """
        if not self.readings:
            raise InvalidInput(f"{self.fabric}: no counters were read over time; run with counters=FILE")
        rows = (
            (reading.time_s, f"{src}-{dst}", float(size))
            for reading in self.readings
            for (src, dst), size in reading.sent_bytes.items()
        )
        write_counters(path, rows)

    def to_json(self) -> Mapping[str, Any]:
        """Return the figures."""
        return {
            **fields_of(self, "fabric", "server_bandwidth_bps", "forwarding", "iteration_time_s"),
            "iteration_times_s": list(self.iterations.measured_s),
            "warm_up_times_s": list(self.iterations.warm_up_s),
            "simulated_times_s": dict(self.prediction.iteration_times_s),
            "compared_with": REFERENCE,
            "excess": self.excess,
            "compute_time_s": self.prediction.compute_time_s,
            **fields_of(self, "gradient_error", "largest_link_excess", "dropped_packets"),
            "cpu_s": self.iterations.cpu_s,
            **fields_of(self, "build_s", "start_s"),
            "cut": None
            if self.cut is None
            else {name: getattr(self.cut, name) for name in CutLink.__slots__},
            "links": [
                {
                    **fields_of(link, "src", "dst", "measured_bytes", "predicted_bytes"),
                }
                for link in self.links
            ],
        }


def predict_iteration(
    graph: TaskGraph, fabric: Fabric, scale: Scale, simulators: Sequence[str] = (REFERENCE,)
) -> Prediction:
    """Simulate an iteration on a fabric, both as they are on the testbed.

    Collectives are rings, as on the testbed.

    Parameters
    ----------
    graph, fabric
        Task graph and fabric, not scaled.
    simulators : sequence of str
        Simulators, including that of :data:`REFERENCE`.
    """
    small, slow = scaled_graph(graph, scale), scaled_fabric(fabric, scale)
    options = SimulationOptions(split="one")
    results = {name: simulate(name, small, slow, options) for name in simulators}
    reference = results[REFERENCE]
    links = zip(
        slow.topology.src.tolist(), slow.topology.dst.tolist(), reference.link_bytes.tolist(), strict=True
    )
    return Prediction(
        {name: result.iteration_time_s for name, result in results.items()},
        reference.compute_time_s,
        {(src, dst): size for src, dst, size in links},
        tuple(reference.start_s.tolist()),
    )


def scaled_graph(graph: TaskGraph, scale: Scale) -> TaskGraph:
    """Return a task graph with smaller messages and longer computing."""
    size_bytes = np.rint(graph.size_bytes / scale.size).astype(graph.size_bytes.dtype)
    return replace(graph, size_bytes=size_bytes, duration_s=graph.duration_s * scale.time)


def scaled_fabric(fabric: Fabric, scale: Scale) -> Fabric:
    """Return a fabric with slower links, whose rings go as packets do: each edge by the routes of its pair.

    A plan may give each ring of a pair another walk, as some repairs do; kernels have one path for all of them.
    """
    topology = replace(fabric.topology, bandwidth_bps=fabric.topology.bandwidth_bps / scale.bandwidth)
    if topology.nodes > topology.servers:
        return replace(fabric, topology=topology)
    rings = {
        group: tuple(_along_routes(ring, fabric.routes) for ring in some)
        for group, some in fabric.rings.items()
    }
    return replace(fabric, topology=topology, rings=rings)


def _along_routes(ring: Ring, routes: Routes) -> Ring:
    edges = zip(ring.members, (*ring.members[1:], ring.members[0]), strict=True)
    walk = tuple(node for src, dst in edges for node in routes.paths(src, dst)[0].nodes[:-1])
    return replace(ring, walk=walk)
