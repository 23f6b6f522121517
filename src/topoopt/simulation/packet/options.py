"""What the packet simulator may be asked for."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known
from topoopt.simulation.flows.mltcp_weight import Aggressiveness
from topoopt.simulation.packet.transports import TRANSPORTS

COMPATIBILITIES = ("none", "flexnetpacket")
"""``flexnetpacket``: with the shortcuts of the authors' packet simulator, so that its outputs can be replayed."""

ACKS = ("free", "reverse")
"""``free``: an acknowledgment takes no time. ``reverse``: it is a packet of 64 bytes on the way back."""

PATH_CHOICES = ("connection", "paths", "packet")
"""Who takes one of a pair's weighted paths. ``connection``: each draws one. ``paths``: a transfer is cut into one
connection a path, by weight. ``packet``: each packet draws one (spraying)."""


RECOVERIES = ("selective", "go-back-n")
"""What is sent again after a loss. ``selective``: what was lost. ``go-back-n``: everything from there on, for the
receiver keeps nothing that is out of order, like early network interfaces with RDMA."""


CONNECTIONS = ("new", "kept")
"""What a transfer sends by. ``new``: a connection of its own. ``kept``: it goes on where the one before it between the
same two servers has ended, with its window and round-trip time, as a socket that stays open over iterations."""

TOTALS = ("given", "learned")
"""How MLTCP knows what an iteration has and how long its job computes: from the task graph, or by watching the first
iterations, in which it grows as the transport that it is made of."""

PROGRESS_OF = ("pair", "job")
"""Whose bytes MLTCP counts: those between two servers, or all of a job."""


@dataclass(frozen=True, slots=True)
class LinkFailure:
    """A directed link that is down for a while.

    Attributes
    ----------
    repair_s : float
        When it is up again; infinity for never.
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
        Room of a queue; what does not fit is lost. Default: without limit. A server's own interface to a
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
    memory_limit_bytes: int = 8 << 30

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
        for name, least in (
            ("mark_packets", 0),
            ("pfc_packets", 0),
            ("buffer_packets", 1),
            ("memory_limit_bytes", 1),
        ):
            amount = getattr(self, name)
            if amount is not None and amount < least:
                raise InvalidInput(f"{name}: must be >= {least}, got {amount}")
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
        """By what connections are weighed, if they are."""
        usual = TRANSPORTS[self.transport].aggressiveness
        return usual if usual is None or self.aggressiveness is None else self.aggressiveness

    @property
    def kept(self) -> bool:
        """Whether a transfer goes on where the one before it has ended."""
        return self.connections == "kept" or self.weights is not None


def _check_plain(options: PacketOptions) -> None:
    """Refuse words about MLTCP with a transport that is none."""
    for name, value, usual in (
        ("aggressiveness", options.aggressiveness, None),
        ("totals", options.totals, TOTALS[0]),
        ("progress_of", options.progress_of, PROGRESS_OF[0]),
    ):
        if value != usual:
            raise InvalidInput(
                f"{name}: {options.transport} weighs no connections; take mltcp-reno or another mltcp"
            )
