"""A run of the flow engine in stretches, between which circuits change, and what the circuits have carried so far."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.csr import owners
from topoopt.simulation.first_come import compute_finish_s
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.fluid.sharing import Links
from topoopt.simulation.fluid.state import Delays, State
from topoopt.simulation.link_classes import sum_by, whole_hops
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.reconfigurable.connections import Connections
from topoopt.simulation.reconfigurable.network import Network, dark
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TaskGraph
from topoopt.simulation.task_run import DONE


@dataclass(eq=False)
class Stretches:
    """Connections over one network after another; of all networks so many links and paths of fewer than ``hops``.

    Attributes
    ----------
    left_bytes : float64 array, shape (pairs,)
        What open connections had still to send at the end of the last stretch.
    link_bytes : float64 array, shape (links,)
        Payload on each link, or on all circuits of a pair of servers: whatever ``end`` counts as one.
    hop_bytes : float64 array, shape (hops,)
        Payload by the links that it crossed.
    """

    connections: Connections
    state: State
    tolerance: float
    net: Network
    links: int
    hops: int
    left_bytes: Floats = field(init=False)
    link_bytes: Floats = field(init=False)
    hop_bytes: Floats = field(init=False)
    _shared: Links = field(init=False)
    _delays: Delays = field(init=False)
    _sent: Floats = field(init=False)
    _hops_sent: Floats = field(init=False)

    def __post_init__(self) -> None:
        pairs = len(self.connections.src)
        self.link_bytes, self.hop_bytes = np.zeros(self.links), np.zeros(self.hops)
        self.left_bytes, self._sent, self._hops_sent = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
        self.take(self.net)

    @property
    def tasks_done(self) -> int:
        """Tasks that have ended so far."""
        return int(self.state.tasks.tally[DONE])

    def take(self, net: Network) -> None:
        """Go on over another network."""
        self.net = net
        self._shared, self._delays = net.links(), net.delays(self.connections.edge_pair)

    def advance(self, until_s: float, *, lit: bool = True) -> None:
        """Serve all events until then, or until a watched task's; what is not ``lit`` has no circuits."""
        links = self._shared if lit else dark(self._shared)
        advance(self.state, links, self._delays, until_s, self.tolerance)

    def end(self, place: Ints) -> None:
        """Count what was sent over the present network; ``place`` is the row of ``link_bytes`` of each ``net.link``."""
        bytes_left(self.state.sharing, self.left_bytes)
        sent = self.state.rounds.entered - self.left_bytes  # in whole packets
        moved = (sent - self._sent) * self.connections.payload_share
        self._sent = sent
        if not moved.any():
            return
        pair = owners(self.net.link_first)
        self.link_bytes += sum_by(place, moved[pair] * self.net.coefficient, self.links)
        mean = sum_by(pair, self.net.coefficient, len(moved))
        self._hops_sent += mean * moved
        hops, share = whole_hops(mean)
        # the share above the largest number of hops is none, and falls on the spare last place
        self.hop_bytes += sum_by(hops.astype(np.int64), share * np.tile(moved, 2), self.hops)

    def result(
        self,
        graph: TaskGraph,
        options: SimulationOptions,
        link_bytes: Floats,
        bandwidth_tax: float,
        width: int,
    ) -> SimResult:
        """Return the result of a run that is over, with paths of fewer than ``width`` hops."""
        pairs = self.connections
        mean = (self._hops_sent / pairs.payload_bytes)[pairs.transfers]
        hops, share = whole_hops(mean)
        return SimResult(
            "flow",
            graph,
            options,
            self.state.tasks.start,
            self.state.tasks.finish,
            compute_finish_s(graph),
            link_bytes,
            float(pairs.payload_bytes.sum()),
            bandwidth_tax,
            self.hop_bytes[:width],
            sum_by(hops.astype(np.int64), share, self.hops)[:width],
        )
