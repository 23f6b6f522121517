"""What circuits have carried so far, and over how many of them each byte went."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.simulate.link_classes import sum_by, whole_hops
from topoopt.simulate.reconfigurable.connections import Connections
from topoopt.simulate.reconfigurable.network import Network
from topoopt.simulate.task_graph import Floats, Ints


@dataclass(eq=False)
class Carried:
    """Sums over all times, of so many links and paths of fewer than so many hops.

    Attributes
    ----------
    link_bytes : float64 array, shape (links,)
        Payload on each link, or on all circuits of a pair of servers: whatever ``add`` counts as one.
    hop_bytes : float64 array, shape (hops,)
        Payload by the links that it crossed.
    """

    connections: Connections
    links: int
    hops: int
    link_bytes: Floats = field(init=False)
    hop_bytes: Floats = field(init=False)
    _sent: Floats = field(init=False)
    _hops_sent: Floats = field(init=False)

    def __post_init__(self) -> None:
        pairs = len(self.connections.src)
        self.link_bytes, self.hop_bytes = np.zeros(self.links), np.zeros(self.hops)
        self._sent, self._hops_sent = np.zeros(pairs), np.zeros(pairs)

    def add(self, sent_bytes: Floats, net: Network, place: Ints) -> None:
        """Add what each pair has sent over a network, given what it has sent in all, in whole packets.

        ``place`` is the row of ``link_bytes`` for each entry of ``net.link``.
        """
        moved = (sent_bytes - self._sent) * self.connections.payload_share
        self._sent = sent_bytes
        if not moved.any():
            return
        count = np.diff(net.link_first)
        self.link_bytes += sum_by(place, np.repeat(moved, count) * net.coefficient, self.links)
        mean = sum_by(np.repeat(np.arange(len(count)), count), net.coefficient, len(count))
        self._hops_sent += mean * moved
        hops, share = whole_hops(mean)
        # the share above the largest number of hops is none, and falls on the spare last place
        self.hop_bytes += sum_by(hops.astype(np.int64), share * np.tile(moved, 2), self.hops)

    def hop_pairs(self) -> Floats:
        """Return the ordered pairs with transfers by the links that their bytes crossed in the mean."""
        pairs = self.connections
        mean = (self._hops_sent / pairs.payload_bytes)[pairs.transfers]
        hops, share = whole_hops(mean)
        return sum_by(hops.astype(np.int64), share, self.hops)
