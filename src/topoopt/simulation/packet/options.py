"""Options of the packet simulator, and the table of transports with the constants and sources of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from topoopt.base.errors import InvalidInput, check_known, check_least
from topoopt.simulation.flows.mltcp_weight import Aggressiveness

UNBOUNDED_PACKETS = 1e9
PFC_STEP_PACKETS = 2.0
"""A paused link resumes when so much less waits (Y. Zhu et al., SIGCOMM 2015, section 4: two packets)."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Transport protocol of connections: when a connection may send.

    Attributes
    ----------
    law : str
        Control law, a name in ``kernel/transports.py``.
    source : str
        Source of the rules and constants.
    paced : bool
        Whether packets leave by a clock of their connection, and not by a window and acknowledgments.
    first_window_packets, ssthresh_packets : float
        Window of a new connection, and where its slow start ends at the latest.
    mark_low_packets, mark_high_packets, mark_share : float
        A packet is marked when it leaves a queue (itself included) above ``high``, and between the two with a
        probability that grows from 0 to ``mark_share``.
    reorder_packets : int
        Packets after which a missing one counts as lost, once a later one has been acknowledged.
    timeout_min_s, timeout_first_s : float
        Retransmission timeout: the least, and the one before a round-trip time is known. RFC 6298 asks for 1 s
        of each, for the Internet; DCTCP's paper and the TopoOpt authors' packet simulator have 10 ms. Time in
        front of the sender's own interface does not count.
    notice_interval_s : float
        Least interval between congestion notices to a paced sender.
    pfc_off_packets, pfc_on_packets : float
        Priority flow control: queued packets from a link at which it is paused, and resumed.
    aggressiveness : Aggressiveness, optional
        Weights of connections (MLTCP): their growth is multiplied. They are kept over iterations then.
    gap_share : float
        Silence, as a share of a job's computation time, that ends its iteration; for MLTCP only.
    own : mapping from name to value
        Constants of this transport alone, in the kernel's order; names in ``_s`` are times.
    """

    law: str
    source: str
    paced: bool = False
    first_window_packets: float = 10.0
    ssthresh_packets: float = UNBOUNDED_PACKETS
    mark_low_packets: float = UNBOUNDED_PACKETS
    mark_high_packets: float = UNBOUNDED_PACKETS
    mark_share: float = 1.0
    reorder_packets: int = 3
    timeout_min_s: float = 10e-3
    timeout_first_s: float = 10e-3
    notice_interval_s: float = 0.0
    pfc_off_packets: float = UNBOUNDED_PACKETS
    pfc_on_packets: float = UNBOUNDED_PACKETS
    aggressiveness: Aggressiveness | None = None
    gap_share: float = 0.9
    own: Mapping[str, float] = field(default_factory=dict)


_PLAIN: Mapping[str, Transport] = {
    "dctcp": Transport(
        "dctcp",
        "M. Alizadeh et al., DCTCP, SIGCOMM 2010; window of 100 packets, K = 50 and gain 1/16 as in the TopoOpt "
        "authors' packet simulator; half the window after a loss",
        first_window_packets=100.0,
        ssthresh_packets=10_000.0,
        mark_low_packets=50.0,
        mark_high_packets=50.0,
        own={"gain": 1.0 / 16.0, "cut_always": 1.0},
    ),
    "dctcp-rfc8257": Transport(
        "dctcp",
        "RFC 8257, which cuts only after windows with marks, K = 50 as in the TopoOpt authors' packet simulator; "
        "recovery of RFC 6675, timeouts of RFC 6298, first window of RFC 6928",
        mark_low_packets=50.0,
        mark_high_packets=50.0,
        own={"gain": 1.0 / 16.0, "cut_always": 0.0},
    ),
    "reno": Transport(
        "reno",
        "RFC 5681 with the recovery of RFC 6675, timeouts of RFC 6298, first window of RFC 6928, and marks, where "
        "queues mark, as in RFC 3168",
    ),
    "cubic": Transport(
        "cubic",
        "RFC 9438 with the recovery of RFC 6675, timeouts of RFC 6298, first window of RFC 6928, and marks, where "
        "queues mark, as in RFC 3168",
        own={"scale": 0.4, "beta": 0.7},
    ),
    "dcqcn": Transport(
        "dcqcn",
        "Y. Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015. Marks at 5 and 200 of its "
        "packets of 1 kB are at so many of our packets, the hyper increase is ten additive ones (both our choice), "
        "and the least rate is one additive increase",
        paced=True,
        mark_low_packets=5.0,
        mark_high_packets=200.0,
        mark_share=0.01,
        notice_interval_s=50e-6,
        pfc_off_packets=100.0,
        pfc_on_packets=100.0 - PFC_STEP_PACKETS,
        own={
            "gain": 1.0 / 256.0,
            "alpha_timer_s": 55e-6,
            "rise_timer_s": 55e-6,
            "byte_counter_bytes": 10e6,
            "fast_steps": 5.0,
            "additive_bps": 40e6,
            "hyper_bps": 400e6,
            "least_bps": 40e6,
        },
    ),
    "line-rate": Transport(
        "line-rate",
        "No congestion control: packets follow each other at the rate of the first link",
        paced=True,
    ),
}


def _weighed(name: str, what: str) -> Transport:
    plain = _PLAIN[name]
    source = f"S. Rajasekaran et al., MLTCP, HotNets 2024: {what}. The rest as {name}: {plain.source}"
    return replace(plain, source=source, aggressiveness=Aggressiveness())


TRANSPORTS: Mapping[str, Transport] = {
    **_PLAIN,
    "mltcp-reno": _weighed("reno", "the window grows by F packets a round trip; slow start and cuts stay"),
    "mltcp-cubic": _weighed(
        "cubic", "the window grows F times as fast, also as a function of time (from memory, unconfirmed)"
    ),
    "mltcp-dcqcn": _weighed("dcqcn", "the additive increase is F times as large (from memory, unconfirmed)"),
}
"""Transports by name. The first is the default."""
COMPATIBILITIES = ("none", "flexnetpacket")
"""``flexnetpacket``: with the shortcuts of the authors' packet simulator, so that its outputs can be replayed."""
ACKS = ("free", "reverse")
"""``free``: an acknowledgment takes no time. ``reverse``: it is a packet of 64 bytes on the way back."""
PATH_CHOICES = ("connection", "paths", "packet")
"""Unit that takes one of a pair's weighted paths. ``connection``: each draws one. ``paths``: a transfer is cut
into one connection per path, by weight. ``packet``: each packet draws one (spraying)."""
RECOVERIES = ("selective", "go-back-n")
"""Packets resent after a loss. ``selective``: the lost ones. ``go-back-n``: everything from the lost one on, since
the receiver drops packets out of order, like early network interfaces with RDMA."""
CONNECTIONS = ("new", "kept")
"""Connection of a transfer. ``new``: its own. ``kept``: it continues the previous one between the same two
servers, with its window and round-trip time, as a socket that stays open over iterations."""
TOTALS = ("given", "learned")
"""Source of an iteration's bytes and computing time in MLTCP: the task graph (``given``), or the first iterations
(``learned``), in which it grows as its base transport."""
PROGRESS_OF = ("pair", "job")
"""Scope of the bytes that MLTCP counts: those between two servers, or all of a job."""


@dataclass(frozen=True, slots=True)
class LinkFailure:
    """A directed link that is down for a while.

    Attributes
    ----------
    repair_s : float
        Time of repair; infinity for never.
    """

    src: int
    dst: int
    fail_s: float
    repair_s: float = float("inf")

    def __post_init__(self) -> None:
        if not 0 <= self.fail_s < self.repair_s:
            raise InvalidInput(
                f"failure of link {self.src}->{self.dst}: expected 0 <= fail_s < repair_s, "
                f"got {self.fail_s} and {self.repair_s}"
            )


@dataclass(frozen=True, slots=True)
class PacketOptions:
    """Options of the packet simulator alone.

    Attributes
    ----------
    transport : str
        Name in :data:`TRANSPORTS`.
    compat : str
        One of :data:`COMPATIBILITIES`. The other simulators heed it for the rounds of small AllReduces.
    acks : str
        One of :data:`ACKS`.
    path_choice : str
        One of :data:`PATH_CHOICES`.
    recovery : str
        One of :data:`RECOVERIES`; matters where packets can be lost.
    mark_packets : float, optional
        Queue length, in packets, above which packets are marked; 0 marks none. Default: the transport's rule.
    pfc_packets : float, optional
        Priority flow control: pause a link when more packets that came by it wait in its node; 0 never. Default:
        the transport's rule.
    buffer_packets : int, optional
        Length of a queue; packets beyond it are lost. Default: unlimited. A server's own interface to a
        switch has no limit in any case.
    timeout_min_s : float, optional
        Least retransmission timeout, and the one before a round-trip time is known. Default: the transport's
        (10 ms), which suits round trips of a data center.
    connections : str, optional
        One of :data:`CONNECTIONS`. Default: kept with MLTCP, which needs that, else new.
    aggressiveness : Aggressiveness, optional
        MLTCP's F. Default: the transport's.
    totals, progress_of : str
        One of :data:`TOTALS` and one of :data:`PROGRESS_OF`; of MLTCP alone.
    failures : tuple of LinkFailure
    log_flows : bool
        Keep a row for each connection; see :class:`topoopt.simulation.FlowTable`.
    memory_limit_bytes : int
        A run that would take more is refused, or stopped before it does.
    """

    transport: str = "dctcp"
    compat: str = "none"
    acks: str = "free"
    path_choice: str = "connection"
    recovery: str = "selective"
    mark_packets: float | None = None
    pfc_packets: float | None = None
    buffer_packets: int | None = None
    timeout_min_s: float | None = None
    connections: str | None = None
    aggressiveness: Aggressiveness | None = None
    totals: str = TOTALS[0]
    progress_of: str = PROGRESS_OF[0]
    failures: tuple[LinkFailure, ...] = ()
    log_flows: bool = False
    memory_limit_bytes: int = 8_000_000_000

    def __post_init__(self) -> None:
        for name, value, known in (
            ("transport", self.transport, tuple(TRANSPORTS)),
            ("compatibility", self.compat, COMPATIBILITIES),
            ("way of acknowledgments", self.acks, ACKS),
            ("path choice", self.path_choice, PATH_CHOICES),
            ("recovery", self.recovery, RECOVERIES),
            ("connections", CONNECTIONS[0] if self.connections is None else self.connections, CONNECTIONS),
            ("totals", self.totals, TOTALS),
            ("progress_of", self.progress_of, PROGRESS_OF),
        ):
            check_known(name, value, known)
        check_least(self, mark_packets=0, pfc_packets=0, buffer_packets=1, memory_limit_bytes=1)
        if self.timeout_min_s is not None and not 0 < self.timeout_min_s < float("inf"):
            raise InvalidInput(f"timeout_min_s: must be positive, got {self.timeout_min_s}")
        if self.weights is None:
            _check_plain(self)
        elif self.connections == "new":
            raise InvalidInput(
                f"connections: {self.transport} keeps them over iterations, expected kept, got new"
            )

    @property
    def weights(self) -> Aggressiveness | None:
        """Aggressiveness by which connections are weighted, or None."""
        usual = TRANSPORTS[self.transport].aggressiveness
        return usual if usual is None or self.aggressiveness is None else self.aggressiveness

    @property
    def kept(self) -> bool:
        """Whether a transfer continues the connection of the previous one."""
        return self.connections == "kept" or self.weights is not None


def _check_plain(options: PacketOptions) -> None:
    """Refuse MLTCP options with another transport."""
    for name, value, usual in (
        ("aggressiveness", options.aggressiveness, None),
        ("totals", options.totals, TOTALS[0]),
        ("progress_of", options.progress_of, PROGRESS_OF[0]),
    ):
        if value != usual:
            raise InvalidInput(
                f"{name}: {options.transport} weighs no connections; take mltcp-reno or another mltcp"
            )
