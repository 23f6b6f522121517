"""The noun PortNetwork: a network of which no links are known, only ports, and how far bytes go between them."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class PortNetwork:
    """What a server has on a network, and what its bytes load beside the ports where they leave and come in.

    Attributes
    ----------
    ports : int
        Of a server, without ``near_ports``.
    rings : int
        So many of them carry a ring of every AllReduce each.
    bandwidth_bps : float
        Of one port.
    latency_s : float
        Of one link.
    links : int
        Between two servers that are next to each other on a ring.
    pool_hops : float
        Links that a byte takes of those that all servers share: how often it is relayed, or what a thin layer of
        switches makes of it.
    ring_hops, group_hops : float
        The same of a byte between neighbors on a ring of all servers, and on one of a part of them.
    near : int
        So many servers next to each other reach one another in a way of their own; 1 if there is none.
    near_ports : int
        Ports that are kept for that; 0 where these bytes take the ports of all others.
    near_hops : float
        Links of the shared ones, or of those of these ports, that such a byte takes.
    """

    ports: int
    rings: int
    bandwidth_bps: float
    latency_s: float
    links: int
    pool_hops: float = 0.0
    ring_hops: float = 0.0
    group_hops: float = 0.0
    near: int = 1
    near_ports: int = 0
    near_hops: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.rings <= self.ports:
            raise InvalidInput(f"rings: expected 1 to {self.ports}, one for each port, got {self.rings}")
