"""What circuits have carried so far, and over how many of them each byte went."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.routing import Fabric
from topoopt.simulate.link_classes import sum_by, whole_hops
from topoopt.simulate.reconfigurable.connections import Connections
from topoopt.simulate.reconfigurable.network import Network
from topoopt.simulate.task_graph import Floats


@dataclass(eq=False)
class Carried:
    """Sums over the circuits of all times.

    Attributes
    ----------
    link_bytes : float64 array, shape (servers * servers,)
        Payload on the circuits of each ordered pair of servers, row by row.
    hop_bytes : float64 array, shape (servers,)
        Payload by the circuits that it crossed.
    """

    connections: Connections
    servers: int
    link_bytes: Floats = field(init=False)
    hop_bytes: Floats = field(init=False)
    _sent: Floats = field(init=False)
    _hops_sent: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.link_bytes = np.zeros(self.servers**2)
        self.hop_bytes = np.zeros(self.servers + 1)
        self._sent = np.zeros(len(self.connections.src))
        self._hops_sent = np.zeros(len(self.connections.src))

    def add(self, sent_bytes: Floats, net: Network, fabric: Fabric) -> None:
        """Add what each pair has sent over a network, given what it has sent in all, in whole packets."""
        moved = (sent_bytes - self._sent) * self.connections.payload_share
        self._sent = sent_bytes
        if not moved.any():
            return
        topology = fabric.topology
        count = np.diff(net.link_first)
        place = topology.src[net.link].astype(np.int64) * self.servers + topology.dst[net.link]
        self.link_bytes += sum_by(place, np.repeat(moved, count) * net.coefficient, self.servers**2)
        mean = sum_by(np.repeat(np.arange(len(count)), count), net.coefficient, len(count))
        self._hops_sent += mean * moved
        hops, share = whole_hops(mean)
        # the share above the largest number of hops is none, and falls on the spare last place
        self.hop_bytes += sum_by(hops.astype(np.int64), share * np.tile(moved, 2), len(self.hop_bytes))

    def hop_pairs(self) -> Floats:
        """Return the ordered pairs with transfers by the circuits that their bytes crossed in the mean."""
        pairs = self.connections
        mean = (self._hops_sent / pairs.payload_bytes)[pairs.transfers]
        hops, share = whole_hops(mean)
        return sum_by(hops.astype(np.int64), share, len(self.hop_bytes))
