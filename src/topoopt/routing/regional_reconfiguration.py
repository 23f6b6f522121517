"""The noun RegionalReconfiguration: circuits inside regions of servers that follow one all-to-all after another.

A server has electrical ports, on a fabric that reaches everyone, and optical ports, on a switch that joins the
servers of its region. Circuits are chosen anew for each all-to-all among servers of a region (of experts, in most
jobs); everything else, and pairs that got no circuit, goes over the electrical fabric.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.base.errors import InvalidInput, check_known

REGION_SERVERS = 8
"""Servers of a region in MixNet's testbed: 64 accelerators in servers of 8."""

REGIONAL_DELAY_S = 25e-3
"""A change of circuits, as MixNet's testbed measures it."""

SATURATED = ("break", "skip")
"""What the greedy choice of circuits does at a pair without free ports: stop (MixNet's text), or go on to the next."""

CIRCUIT_CHOICES = (*SATURATED, "improved")
"""How circuits are chosen: greedily, in one of the two ways, or so that the all-to-all is done early, as
:func:`topoopt.finder.improved_circuits` does."""

HIDING = ("all-but-first", "overlapped", "none")
"""How much of a change an all-to-all waits for. ``all-but-first``: only that of a server's first one in an iteration
is waited for, all others are hidden behind computing (MixNet's account). ``overlapped``: a change begins when the
ports are idle, and what is left of it when the all-to-all is ready is waited for. ``none``: it begins when the
all-to-all is ready."""


@dataclass(frozen=True, slots=True)
class RegionalReconfiguration:
    """What a server has for circuits, who can be joined, and what a change costs.

    Attributes
    ----------
    degree : int
        Optical ports of a server.
    electrical_bps : float
        Of all electrical ports of a server, each way.
    bandwidth_bps, latency_s : float
        Of one circuit, each way.
    region_servers : int
        Servers 0 … region_servers-1 are a region, and so on.
    delay_s : float
        How long a change takes; the servers' other circuits stay.
    circuits, hiding : str
        One of :data:`CIRCUIT_CHOICES` and of :data:`HIDING`.
    """

    degree: int
    bandwidth_bps: float
    latency_s: float
    electrical_bps: float
    region_servers: int = REGION_SERVERS
    delay_s: float = REGIONAL_DELAY_S
    circuits: str = "break"
    hiding: str = "all-but-first"

    def __post_init__(self) -> None:
        for name, least in (("degree", 1), ("region_servers", 2)):
            if getattr(self, name) < least:
                raise InvalidInput(
                    f"reconfiguration: {name} must be at least {least}, got {getattr(self, name)}"
                )
        for name in ("bandwidth_bps", "electrical_bps"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"reconfiguration: {name} must be positive, got {getattr(self, name)}")
        for name in ("latency_s", "delay_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InvalidInput(f"reconfiguration: {name} must be >= 0, got {getattr(self, name)}")
        check_known("circuits", self.circuits, CIRCUIT_CHOICES)
        check_known("hiding", self.hiding, HIDING)

    def joins(self, src: Ints, dst: Ints) -> Flags:
        """Return which pairs of servers a circuit can join, shape as given."""
        size = self.region_servers
        return np.asarray((src != dst) & (src // size == dst // size), np.bool_)

    def pairs(self, servers: int) -> tuple[Ints, Ints]:
        """Return all ordered pairs that a circuit can join, by regions, each of shape (pairs,).

        Examples
        --------
        >>> src, dst = RegionalReconfiguration(6, 1e9, 1e-6, 2e9, 2, 0.025).pairs(5)
        >>> list(zip(src.tolist(), dst.tolist()))
        [(0, 1), (1, 0), (2, 3), (3, 2)]
        """
        size = self.region_servers
        src = np.repeat(np.arange(servers), size)
        dst = src // size * size + np.tile(np.arange(size), servers)
        kept = (src != dst) & (dst < servers)
        return src[kept], dst[kept]
