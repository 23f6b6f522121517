"""What electrical links and circuits have carried so far, and over how many of them each byte went."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.simulate.link_classes import sum_by, whole_hops
from topoopt.simulate.reconfigurable.connections import Connections
from topoopt.simulate.reconfigurable.network import Network
from topoopt.simulate.task_graph import Floats

MOST_HOPS = 8
"""Links between two servers of a fat-tree: 6, and some to spare."""


@dataclass(eq=False)
class Carried:
    """Sums over all times.

    Attributes
    ----------
    link_bytes : float64 array, shape (links,)
        Payload on each link of the network.
    hop_bytes : float64 array, shape (hops+1,)
        Payload by the links that it crossed.
    """

    connections: Connections
    links: int
    link_bytes: Floats = field(init=False)
    hop_bytes: Floats = field(init=False)
    _sent: Floats = field(init=False)
    _hops_sent: Floats = field(init=False)

    def __post_init__(self) -> None:
        pairs = len(self.connections.src)
        self.link_bytes, self.hop_bytes = np.zeros(self.links), np.zeros(MOST_HOPS)
        self._sent, self._hops_sent = np.zeros(pairs), np.zeros(pairs)

    def add(self, sent_bytes: Floats, net: Network) -> None:
        """Add what each pair has sent over a network, given what it has sent in all, in whole packets."""
        moved = (sent_bytes - self._sent) * self.connections.payload_share
        self._sent = sent_bytes
        length = np.diff(net.link_first)
        self.link_bytes += sum_by(net.link, np.repeat(moved, length) * net.coefficient, self.links)
        mean = sum_by(np.repeat(np.arange(len(length)), length), net.coefficient, len(length))
        self._hops_sent += mean * moved
        hops, share = whole_hops(mean)
        self.hop_bytes += sum_by(hops.astype(np.int64), share * np.tile(moved, 2), MOST_HOPS)

    def hop_pairs(self) -> Floats:
        """Return the ordered pairs with transfers by the links that their bytes crossed in the mean."""
        pairs = self.connections
        mean = (self._hops_sent / pairs.payload_bytes)[pairs.transfers]
        hops, share = whole_hops(mean)
        return sum_by(hops.astype(np.int64), share, MOST_HOPS)
