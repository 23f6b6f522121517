"""Fabric and Reconfiguration: a topology with everything that a simulator needs to use it.

The noun Reconfiguration: how a fabric of optical circuits follows the traffic over time.

::

    0 ── first_change_s ──┤ delay_s: nothing moves ├── live_s: circuits carry ──┤ delay_s ├── live_s ── …

Demand is measured when a change begins, and the new circuits are there ``delay_s`` later. A change that finds
nothing to send does not take place, and costs nothing.

The noun RegionalReconfiguration: circuits inside regions of servers that follow one all-to-all after another.

A server has electrical ports, on a fabric that reaches everyone, and optical ports, on a switch that joins the
servers of its region. Circuits are chosen anew for each all-to-all among servers of a region (of experts, in most
jobs); everything else, and pairs that got no circuit, goes over the electrical fabric.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.base.errors import InvalidInput, check_fields
from topoopt.routing.routes import Routes
from topoopt.topologies import DirectWiring, Ring, Topology

REGION_SERVERS = 8
"""Servers of a region in MixNet's testbed: 64 accelerators in servers of 8."""
REGIONAL_DELAY_S = 25e-3
"""A change of circuits, as MixNet's testbed measures it."""
SATURATED = ("break", "skip")
"""Greedy choice of circuits at a pair without free ports: stop (MixNet's text), or continue with the next pair."""
CIRCUIT_CHOICES = (*SATURATED, "improved")
"""Methods to choose circuits: greedily, in one of the two variants, or such that the all-to-all finishes early, as in
:func:`topoopt.finder.regional_circuits`."""
HIDING = ("all-but-first", "overlapped", "none")
"""Part of a reconfiguration that an all-to-all waits for. ``all-but-first``: only the first one of a server in an
iteration is waited for, all others are hidden behind computation (MixNet's account). ``overlapped``: it starts when
the ports are idle, and the all-to-all waits for the rest. ``none``: it starts when the all-to-all is ready.
"""


@dataclass(frozen=True, slots=True)
class RegionalReconfiguration:
    """Ports for circuits, the servers they can join, and the cost of a reconfiguration.

    Attributes
    ----------
    degree : int
        Optical ports of a server.
    electrical_bps : float
        Bandwidth of all electrical ports of a server, per direction.
    bandwidth_bps, latency_s : float
        Bandwidth and latency of one circuit, per direction.
    region_servers : int
        Servers 0 … region_servers-1 are a region, and so on.
    delay_s : float
        Duration of a reconfiguration; the servers' other circuits stay.
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
        check_fields(self, circuits=CIRCUIT_CHOICES, hiding=HIDING)

    def joins(self, src: Ints, dst: Ints) -> Flags:
        """Return which pairs of servers a circuit can join, with the shape of the arguments."""
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


LIVE_PER_DELAY = 4.0
LATEST_FIRST_CHANGE_S = 1e-3


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """Timing of reconfigurations, circuits per server, and whether servers relay.

    Attributes
    ----------
    degree : int
        Circuits that a server can send on, and as many to receive on.
    bandwidth_bps, latency_s : float
        Bandwidth and latency of one circuit in one direction.
    delay_s : float
        Duration of a reconfiguration; no circuit carries anything meanwhile.
    live_s : float
        Time from the end of one reconfiguration to the start of the next.
    first_change_s : float
        Start of the first reconfiguration; until then the fabric is wired at random.
    duplex : bool
        Whether a circuit has a reverse direction, as with an optical switch, or is one-way, as with a wavelength.
    host_forwarding : bool
        Whether servers relay traffic of others; needs duplex circuits. If not, bytes without a circuit wait for
        one.
    seed : int
        Random seed of the initial circuits.
    """

    degree: int
    bandwidth_bps: float
    latency_s: float
    delay_s: float
    live_s: float
    first_change_s: float
    duplex: bool = True
    host_forwarding: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"reconfiguration: degree must be at least 1, got {self.degree}")
        for name in ("bandwidth_bps", "live_s"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"reconfiguration: {name} must be positive, got {getattr(self, name)}")
        for name in ("latency_s", "delay_s", "first_change_s"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(f"reconfiguration: {name} must be >= 0, got {getattr(self, name)}")
        if self.host_forwarding and not self.duplex:
            raise InvalidInput(
                "reconfiguration: servers can forward over duplex circuits only; switch host forwarding off"
            )

    @property
    def period_s(self) -> float:
        """Time from the start of one reconfiguration to the start of the next."""
        return self.delay_s + self.live_s

    def next_change_s(self, earliest_s: float) -> float:
        """Return the first possible start of a change at or after ``earliest_s``; changes are periodic."""
        if earliest_s <= self.first_change_s:
            return self.first_change_s
        beats = -(-(earliest_s - self.first_change_s) // self.period_s)
        return self.first_change_s + beats * self.period_s


@dataclass(frozen=True, eq=False)
class Fabric:
    """Links, routes of every pair, and the rings of every AllReduce group.

    Attributes
    ----------
    name : str
        Name in the table of fabrics: ``topoopt``, ``ideal-switch``, ``fat-tree``, …
    rings : mapping from the sorted members of a group to its rings
        AllReduce bytes of the group are split equally over them. A group that is not listed takes one ring in
        member order, each edge along the routes.
    reconfiguration : Reconfiguration or RegionalReconfiguration, optional
        Reconfiguration over time. Links and routes are then the initial ones or, with regional circuits, those of the
        electrical fabric alone. None means a fixed wiring.
    wiring : DirectWiring, optional
        Wiring by the topology finder of all servers, where it is not along strides.
    """

    name: str
    topology: Topology
    routes: Routes
    rings: Mapping[tuple[int, ...], tuple[Ring, ...]]
    reconfiguration: Reconfiguration | RegionalReconfiguration | None = None
    wiring: DirectWiring | None = None

    @property
    def beat(self) -> Reconfiguration:
        """The rule of a fabric whose circuits all change at the same time."""
        assert isinstance(self.reconfiguration, Reconfiguration)
        return self.reconfiguration


def beat(delay_s: float) -> tuple[float, float, float]:
    """Return the delay, how long circuits live and when the first change begins, which apply with a delay.

    Circuits live four times as long as a change takes, so that they carry 80 % of the time, and the first
    change comes after the delay or a millisecond, whichever is less (TopoOpt, NSDI 2023, section 5.1: 10 ms,
    and demand measured every 50 ms).

    Examples
    --------
    >>> beat(0.01), beat(0.0005)
    ((0.01, 0.04, 0.001), (0.0005, 0.002, 0.0005))
    """
    return delay_s, LIVE_PER_DELAY * delay_s, min(delay_s, LATEST_FIRST_CHANGE_S)
