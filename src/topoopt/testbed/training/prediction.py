"""What simulators say of a job on a testbed, at its scale: time, and bytes of every link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.routing import Fabric
from topoopt.simulate import SimulationOptions, TaskGraph, simulate
from topoopt.testbed.training.scale import Scale

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
    links = zip(slow.topology.src.tolist(), slow.topology.dst.tolist(), reference.link_bytes.tolist(), strict=True)
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
    """Return a fabric with slower links."""
    topology = replace(fabric.topology, bandwidth_bps=fabric.topology.bandwidth_bps / scale.bandwidth)
    return replace(fabric, topology=topology)
