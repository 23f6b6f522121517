"""What simulators say of a job on a testbed, at its scale: time, and bytes of every link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.plugins.testbeds.training.scale import Scale
from topoopt.routing import Fabric, Routes
from topoopt.simulation import SimulationOptions, TaskGraph, simulate
from topoopt.topologies import Ring

MEASURED_BESIDE = ("analytic", "flow", "packet")
REFERENCE = "flow"
"""Its time is what measured ones are compared with, and its bytes."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """An iteration as simulated at the scale of a testbed.

    Attributes
    ----------
    iteration_times_s : mapping from simulators to seconds
    compute_time_s : float
        With free communication.
    link_bytes : mapping from (src, dst) to bytes
        Payload on every link of the fabric, by its nodes.
    ready_s : tuple of float
        When each task is ready.
    """

    iteration_times_s: Mapping[str, float]
    compute_time_s: float
    link_bytes: Mapping[tuple[int, int], float]
    ready_s: tuple[float, ...]

    @property
    def iteration_time_s(self) -> float:
        """That of the simulator that measured times are compared with."""
        return self.iteration_times_s[REFERENCE]


def predict_iteration(
    graph: TaskGraph, fabric: Fabric, scale: Scale, simulators: Sequence[str] = (REFERENCE,)
) -> Prediction:
    """Simulate an iteration on a fabric, both as they are on the testbed.

    Collectives are rings, since that is what runs there.

    Parameters
    ----------
    graph, fabric
        Not scaled.
    simulators : sequence of str
        Among them the one of :data:`REFERENCE`.
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

    A plan may give each ring of a pair another walk, as some repairs do; kernels know one path for all of them.
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
