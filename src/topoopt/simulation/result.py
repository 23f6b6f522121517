"""The noun SimResult: what one simulation found, the same for every simulator."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.units import format_bytes, format_time
from topoopt.simulation.flow_table import FlowTable
from topoopt.simulation.left_out import LeftOut
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.packet.statistics import PacketStatistics
from topoopt.simulation.schedules.collective_choice import CollectiveChoice
from topoopt.simulation.task_graph import COMPUTE, TaskGraph

ROUNDING = 1e-12
"""Part of a time that sums of its pieces may miss by."""


@dataclass(frozen=True, eq=False)
class SimResult:
    """Times of every task, and what the links carried.

    Attributes
    ----------
    simulator : str
        Name in :data:`topoopt.simulation.SIMULATORS`.
    options : SimulationOptions
        As used; the tolerance is the one that was chosen.
    start_s, finish_s : float64 arrays, shape (tasks,)
        Of a compute task: when it runs. Of communication: when it is ready, and when its last byte is in.
    compute_finish_s : float64 array, shape (tasks,)
        Finish of every task if communication were free.
    link_bytes : float64 array, shape (links,)
        Payload on each directed link, all iterations together.
    demanded_bytes : float
        Payload asked for; an AllReduce asks for what its ring edges or its schedule's transfers carry.
    bandwidth_tax : float
        Bytes that servers put on links, forwarded ones included, over bytes demanded; 1 without
        forwarding, and where only switches forward.
    hop_bytes : float64 array, shape (hops+1,)
        Demanded bytes by the number of links they cross.
    hop_pairs : float64 array, shape (hops+1,)
        Ordered pairs of servers with transfers, by the number of links between them.
    packet : PacketStatistics, optional
        Counts of packets, marks and queues; of the packet simulator alone.
    flows : FlowTable, optional
        A row for each connection, where asked for.
    algorithms : tuple of CollectiveChoice
        By what the collectives went, if the options ask for another algorithm than the ring.
    left_out : LeftOut, optional
        Micro-batches that the graph does not have, though bytes and times of the iteration count them.
    """

    simulator: str
    graph: TaskGraph
    options: SimulationOptions
    start_s: Floats
    finish_s: Floats
    compute_finish_s: Floats
    link_bytes: Floats
    demanded_bytes: float
    bandwidth_tax: float
    hop_bytes: Floats
    hop_pairs: Floats
    packet: PacketStatistics | None = None
    flows: FlowTable | None = None
    algorithms: tuple[CollectiveChoice, ...] = ()
    left_out: LeftOut | None = None

    @cached_property
    def iteration_time_s(self) -> float:
        """Seconds of one cold iteration, or in the steady state where the graph holds several."""
        more_s = self.left_out.iteration_s if self.left_out else 0.0
        return steady_state_time_s(self.graph, self.finish_s) + more_s

    @cached_property
    def compute_time_s(self) -> float:
        """The same with free communication."""
        more_s = self.left_out.compute_s if self.left_out else 0.0
        return steady_state_time_s(self.graph, self.compute_finish_s) + more_s

    @cached_property
    def busy_s(self) -> float:
        """How long the busiest accelerator computes in an iteration."""
        graph, computing = self.graph, self.graph.kind == COMPUTE
        busy_s = np.bincount(graph.device[computing], graph.duration_s[computing], minlength=1).max()
        return float(busy_s) / graph.iterations + (self.left_out.busy_s if self.left_out else 0.0)

    @cached_property
    def bubble_s(self) -> float:
        """Of ``compute_time_s``, what the busiest accelerator waits for others: the bubble of a pipeline."""
        waited_s = self.compute_time_s - self.busy_s
        return waited_s if waited_s > ROUNDING * self.compute_time_s else 0.0

    @property
    def exposed_communication_s(self) -> float:
        """Communication that computation does not hide."""
        return self.iteration_time_s - self.compute_time_s

    @property
    def link_bytes_max(self) -> float:
        """Bytes on the busiest link."""
        return float(self.link_bytes.max(initial=0.0))

    def summary(self) -> dict[str, float | str]:
        """Return the figures that a table or a JSON file wants."""
        return {
            "simulator": self.simulator,
            "iteration_time_s": self.iteration_time_s,
            "compute_time_s": self.compute_time_s,
            "exposed_communication_s": self.exposed_communication_s,
            "link_bytes_max": self.link_bytes_max,
            "bandwidth_tax": self.bandwidth_tax,
        }

    def __str__(self) -> str:
        return (
            f"{self.simulator}: {format_time(self.iteration_time_s)} per iteration, "
            f"{format_time(self.compute_time_s)} of it compute; busiest link {format_bytes(self.link_bytes_max)}, "
            f"bandwidth tax {self.bandwidth_tax:.3f}"
        )


def steady_state_time_s(graph: TaskGraph, finish_s: NDArray[np.float64]) -> float:
    """Return the mean time between the ends of the iterations that have both a predecessor and a successor.

    With T_i when the last task of iteration i is finished this is (T_(k-1) - T_1)/(k - 2) for k iterations: the
    first has no predecessor whose gradients it meets on the links, and the last is quicker than any other, since
    no successor takes links and accelerators from it. One iteration gives T_1, two give T_2 - T_1.
    """
    if not len(graph):
        return 0.0
    ends_s = [float(finish_s[graph.iteration == i].max()) for i in range(graph.iterations)]
    if len(ends_s) > 2:
        ends_s.pop()
    return (ends_s[-1] - ends_s[0]) / (len(ends_s) - 1) if len(ends_s) > 1 else ends_s[0]
