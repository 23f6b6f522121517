"""SimResult: the result of one simulation, the same for every simulator."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Columns, Floats, Ints, owners
from topoopt.base.units import format_bytes, format_time
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.task_graph import COMPUTE, PHASES, TRANSFER, TaskGraph


@dataclass(frozen=True, slots=True)
class CollectiveChoice:
    """The algorithm of all collectives of one kind, group and size.

    Attributes
    ----------
    members : tuple of int
        Servers, in the order in which the collective names them.
    size_bytes : int
        Buffer of one member.
    count : int
        Number of these collectives in a task graph.
    transfers : int
        Transfers of one of them, each simulated separately; 0 for a ring, which the simulators model as a whole.
    alone_s : float, optional
        Closed-form time of one of them if nothing else moves; None where circuits change.
    """

    collective: str
    members: tuple[int, ...]
    size_bytes: int
    count: int
    algorithm: str
    transfers: int
    alone_s: float | None


@dataclass(frozen=True, eq=False)
class PacketStatistics:
    """Counts of one run.

    Attributes
    ----------
    connections : int
        Opened and closed.
    packets : int
        Sent by servers, those that open connections and acknowledgments included; of them ``delivered`` arrived
        and ``drops`` were lost.
    packet_hops : int
        Packets times links crossed.
    events : int
        Events of the engine: arrivals at the end of a link, and timers.
    marks, drops, timeouts, resent, pauses : int
        Packets marked, lost and sent again; retransmission timeouts; pauses by priority flow control.
    peak_memory_bytes : int
        Size of the engine's arrays.
    task_marks : int64 array, shape (tasks,)
        Packets of each task that arrived with a mark; one that several queues have marked counts once.
    link_packets, link_wire_bytes, link_marks, link_drops, link_queue_peak_bytes : int64 arrays, shape (links,)
        A queue's peak includes the packet that is being sent.
    """

    connections: int
    packets: int
    delivered: int
    packet_hops: int
    events: int
    marks: int
    drops: int
    timeouts: int
    resent: int
    pauses: int
    peak_memory_bytes: int
    task_marks: Ints
    link_packets: Ints
    link_wire_bytes: Ints
    link_marks: Ints
    link_drops: Ints
    link_queue_peak_bytes: Ints


@dataclass(frozen=True, eq=False)
class FlowTable(Columns):
    """Flows by columns, each of shape (flows,), in the order in which they ended.

    Attributes
    ----------
    task : int64 array
        Number in the task graph; a collective has one flow for every member and round.
    src, dst : int64 arrays
        Servers.
    size_bytes : int64 array
    start_s, finish_s : float64 arrays
        Time at which the connection was requested, and arrival of its last byte.
    hops : int64 array
        Links of its path.
    packets, marks, resent : int64 arrays
        Data packets, how many arrived marked, and how many were sent again.
    alone_s : float64 array
        Time of the flow if nothing else moved: the closed form of its path, or of one circuit where circuits change.
    """

    task: Ints
    src: Ints
    dst: Ints
    size_bytes: Ints
    start_s: Floats
    finish_s: Floats
    hops: Ints
    packets: Ints
    marks: Ints
    resent: Ints
    alone_s: Floats

    @property
    def completion_s(self) -> Floats:
        """Flow completion times, shape (flows,)."""
        return self.finish_s - self.start_s

    @property
    def slowdown(self) -> Floats:
        """Completion times over those of the flows alone, shape (flows,); 1 for a flow that takes no time."""
        taken = self.alone_s > 0
        return np.where(taken, self.completion_s / np.where(taken, self.alone_s, 1.0), 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class LeftOut:
    """Rounds of micro-batches that repeat the simulated ones.

    Attributes
    ----------
    micro_batches : int
        Micro-batches per replica that were not simulated.
    rounds : float
        Multiple of the difference between the simulated graph and ``shorter``.
    shorter : TaskGraph
        The graph of a round less.
    iteration_s, compute_s, busy_s : float
        Additions to the iteration, to the one with free communication, and to the work of the busiest device.
    drift : float
        Share by which the last two rounds that were simulated differ; 0 but for rounding where a pipeline is in step.
    """

    micro_batches: int
    rounds: float
    shorter: TaskGraph
    iteration_s: float
    compute_s: float
    busy_s: float
    drift: float


@dataclass(frozen=True, eq=False, slots=True)
class Folded:
    """Replicas of which only some were simulated.

    Attributes
    ----------
    simulated, replicas : int
        Replicas that the task graph has, and all there are.
    exact : bool
        Whether the others do the same on links of their own. If not, those simulated wait longest for the links
        that they share, and the bytes of others on these are a stretch of their transfers.
    copies : float64 array, shape (servers,)
        Servers with the same traffic as a server of the simulated replicas, itself included; 1 where not exact.
    """

    simulated: int
    replicas: int
    exact: bool
    copies: Floats

    @property
    def words(self) -> str:
        """Sentence on the simulated replicas and the others."""
        some = f"{self.simulated:,} of {self.replicas:,} replicas simulated"
        if self.exact:
            return f"{some}: the others do the same"
        return (
            f"{some}, those that wait longest for links; transfers of others go first there, an approximation"
        )


ROUNDING = 1e-12
"""Part of a time that sums of its pieces may miss by."""


@dataclass(frozen=True, eq=False)
class SimResult:
    """Times of every task, and the bytes on links.

    Attributes
    ----------
    simulator : str
        Name in :data:`topoopt.simulation.SIMULATORS`.
    options : SimulationOptions
        Options as used; the tolerance is the one that was chosen.
    start_s, finish_s : float64 arrays, shape (tasks,)
        Start and end of a compute task. For communication: the time it is ready, and arrival of its last byte.
    compute_finish_s : float64 array, shape (tasks,)
        Finish of every task if communication were free.
    link_bytes : float64 array, shape (links,)
        Payload on each directed link, all iterations together.
    demanded_bytes : float
        Payload demanded; for an AllReduce, the bytes of its ring edges or of its schedule's transfers.
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
        A row for each connection, where requested.
    algorithms : tuple of CollectiveChoice
        Algorithms of the collectives, if the options request others than the ring.
    left_out : LeftOut, optional
        Micro-batches that the graph does not have, though bytes and times of the iteration count them.
    folded : Folded, optional
        Replicas that the graph does not have, though bytes count them.
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
    folded: Folded | None = None

    @cached_property
    def iteration_time_s(self) -> float:
        """Seconds of one cold iteration, or in the steady state where the graph holds several."""
        more_s = self.left_out.iteration_s if self.left_out else 0.0
        return steady_state_time_s(self.graph, self.finish_s) + more_s

    @cached_property
    def compute_time_s(self) -> float:
        """Iteration time with free communication."""
        more_s = self.left_out.compute_s if self.left_out else 0.0
        return steady_state_time_s(self.graph, self.compute_finish_s) + more_s

    @cached_property
    def busy_s(self) -> float:
        """Computing time of the busiest accelerator in an iteration."""
        graph, computing = self.graph, self.graph.kind == COMPUTE
        busy_s = np.bincount(graph.device[computing], graph.duration_s[computing], minlength=1).max()
        return float(busy_s) / graph.iterations + (self.left_out.busy_s if self.left_out else 0.0)

    @cached_property
    def bubble_s(self) -> float:
        """Part of ``compute_time_s`` in which the busiest accelerator waits for others: the pipeline bubble."""
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
        """Return the figures for a table or a JSON file."""
        return {
            **fields_of(
                self,
                "simulator",
                "iteration_time_s",
                "compute_time_s",
                "exposed_communication_s",
                "link_bytes_max",
                "bandwidth_tax",
            ),
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


class TimelineRow(NamedTuple):
    """One bar: everything a server did for one operator and phase, from the first start to the last end."""

    server: int
    operator: str
    phase: str
    iteration: int
    start_s: float
    finish_s: float


def timeline(result: SimResult, server: int | None = None) -> list[TimelineRow]:
    """Return the bars of one server or of all, by server and start.

    Transfers count for the server that sends, collectives for every member.
    """
    graph = result.graph
    task, place = places(graph)
    if server is not None:
        task, place = task[place == server], place[place == server]
    keys = np.stack([place, graph.operator[task], graph.phase[task], graph.iteration[task]], axis=1)
    groups, inverse = np.unique(keys, axis=0, return_inverse=True)
    start = np.full(len(groups), np.inf)
    finish = np.zeros(len(groups))
    np.minimum.at(start, inverse, result.start_s[task])
    np.maximum.at(finish, inverse, result.finish_s[task])
    names = (*graph.operator_names, "")  # -1 is the last, empty one
    rows = [
        TimelineRow(where, names[operator], PHASES[phase], iteration, begin, end)
        for (where, operator, phase, iteration), begin, end in zip(
            groups.tolist(), start.tolist(), finish.tolist(), strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.server, row.start_s, row.finish_s))


def places(graph: TaskGraph) -> tuple[Ints, Ints]:
    """Return task and server of everything that a server has a part in."""
    compute = np.flatnonzero(graph.kind == COMPUTE)
    transfer = np.flatnonzero(graph.kind == TRANSFER)
    task = np.concatenate([compute, transfer, owners(graph.member_first)])
    return task, np.concatenate([graph.server[compute], graph.src[transfer], graph.member])
