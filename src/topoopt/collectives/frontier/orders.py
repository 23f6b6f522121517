"""Orders of all servers along which schedules are laid: rings over links of their own, else their numbers."""

from dataclasses import dataclass

import numpy as np

from topoopt.collectives.frontier.wiring import Wiring
from topoopt.finder import direct_rings, hamiltonian_rings, one_way_rings

_Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders of the servers, side by side.

    Attributes
    ----------
    direct : bool
        Whether neighbors in an order are joined by a link.
    share : float
        Part of a link's rate that an order has; below 1 where several cross the same link.
    """

    orders: tuple[_Order, ...]
    direct: bool
    share: float = 1.0

    def __len__(self) -> int:
        return len(self.orders)


def ring_orders(wiring: Wiring, seed: int = 0) -> Orders:
    """Return as many rings as are found that share no link, at most one a port; else one in order of the servers.

    A circulant has a ring along each stride that meets all servers. Where these leave ports idle, disjoint Hamiltonian
    cycles are searched for, each walked both ways where links go both ways.
    """
    if wiring.rings:
        return _known_orders(wiring)
    everyone = np.arange(wiring.servers)
    rings = direct_rings(wiring.topology, everyone, wiring.ports)
    if len(rings) < wiring.ports and len(wiring.topology) < wiring.servers**2 / 2:
        search = hamiltonian_rings if wiring.links == "duplex" else one_way_rings
        rings = max(rings, search(wiring.topology, everyone, wiring.ports, seed), key=len)
    if rings:
        return Orders(tuple(ring.members for ring in rings), True)
    return Orders((tuple(everyone.tolist()),), False)


def _known_orders(wiring: Wiring) -> Orders:
    """Return the rings that the wiring brings, one of twice another's share twice; of cables, both ways around."""
    least = min(share for _, share in wiring.rings)
    orders = []
    for walk, share in wiring.rings:
        back = ((walk[0], *walk[:0:-1]),) if wiring.links == "duplex" else ()
        orders += [walk, *back] * round(share / least)
    return Orders(tuple(orders), True, least)
