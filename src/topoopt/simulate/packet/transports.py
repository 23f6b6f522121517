"""The table of transports: constants and sources of each; what they do is in ``kernel/``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

UNBOUNDED_PACKETS = 1e9


@dataclass(frozen=True, slots=True)
class Transport:
    """How a connection decides when to send.

    Attributes
    ----------
    code : int
        Number in ``kernel/transports.py``.
    source : str
        Where the rules and constants come from.
    first_window_packets, ssthresh_packets : float
        Window of a new connection, and where its slow start ends at the latest.
    mark_low_packets, mark_high_packets, mark_share : float
        A packet is marked when it leaves a queue (itself included) above ``high``, and between the two with a
        probability that grows from 0 to ``mark_share``.
    reorder_packets : int
        A packet is lost when one that was sent so many later has been acknowledged.
    timeout_min_s, timeout_first_s : float
        Retransmission timeout: the least, and the one before a round-trip time is known.
    notice_interval_s : float
        Above 0 for a transport that paces its packets: marks are told to the sender once in this time.
    pfc_off_packets, pfc_on_packets : float
        Priority flow control: pause a link when so much of what came by it waits, resume at so much.
    own : mapping from name to value
        Constants of this transport alone, in the order in which the kernel knows them.
    """

    code: int
    source: str
    first_window_packets: float = 10.0
    ssthresh_packets: float = UNBOUNDED_PACKETS
    mark_low_packets: float = UNBOUNDED_PACKETS
    mark_high_packets: float = UNBOUNDED_PACKETS
    mark_share: float = 1.0
    reorder_packets: int = 3
    timeout_min_s: float = 1e-3
    timeout_first_s: float = 10e-3
    notice_interval_s: float = 0.0
    pfc_off_packets: float = UNBOUNDED_PACKETS
    pfc_on_packets: float = UNBOUNDED_PACKETS
    own: Mapping[str, float] = field(default_factory=dict)


TRANSPORTS: Mapping[str, Transport] = {
    "dctcp": Transport(
        0,
        "M. Alizadeh et al., DCTCP, SIGCOMM 2010; window of 100 packets, K = 50 and gain 1/16 as in the TopoOpt "
        "authors' packet simulator",
        first_window_packets=100.0,
        ssthresh_packets=10_000.0,
        mark_low_packets=50.0,
        mark_high_packets=50.0,
        own={"gain": 1.0 / 16.0},
    ),
}
"""Transports by name. The first is the default."""
