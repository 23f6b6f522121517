"""What the packet simulator may be asked for."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput, check_known
from topoopt.simulate.packet.transports import TRANSPORTS

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
    failures : tuple of LinkFailure
    log_flows : bool
        Keep a row for each connection; see :class:`topoopt.simulate.FlowTable`.
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
