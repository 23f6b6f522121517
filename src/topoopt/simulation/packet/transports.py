"""The table of transports: constants and sources of each; what they do is in ``kernel/``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from topoopt.simulation.flows.mltcp_weight import Aggressiveness

UNBOUNDED_PACKETS = 1e9

PFC_STEP_PACKETS = 2.0
"""A paused link resumes when so much less waits (Y. Zhu et al., SIGCOMM 2015, section 4: two packets)."""


@dataclass(frozen=True, slots=True)
class Transport:
    """How a connection decides when to send.

    Attributes
    ----------
    law : str
        What it does: a name in ``kernel/transports.py``.
    source : str
        Where the rules and constants come from.
    paced : bool
        Whether packets leave by a clock of their connection, and not by a window and acknowledgments.
    first_window_packets, ssthresh_packets : float
        Window of a new connection, and where its slow start ends at the latest.
    mark_low_packets, mark_high_packets, mark_share : float
        A packet is marked when it leaves a queue (itself included) above ``high``, and between the two with a
        probability that grows from 0 to ``mark_share``.
    reorder_packets : int
        A packet is lost when one that was sent so many later has been acknowledged.
    timeout_min_s, timeout_first_s : float
        Retransmission timeout: the least, and the one before a round-trip time is known. RFC 6298 asks for 1 s
        of each, for the Internet; DCTCP's paper and the TopoOpt authors' packet simulator have 10 ms. Time in
        front of the sender's own interface does not count.
    notice_interval_s : float
        A paced sender is told of marks once in this time.
    pfc_off_packets, pfc_on_packets : float
        Priority flow control: pause a link when so much of what came by it waits, resume at so much.
    aggressiveness : Aggressiveness, optional
        By what connections are weighed (MLTCP): their growth is multiplied. They are kept over iterations then.
    gap_share : float
        A silence of so much of the time that a job computes says that its iteration is over; of MLTCP alone.
    own : mapping from name to value
        Constants of this transport alone, in the order in which the kernel knows them; names in ``_s`` are times.
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
    """Return a transport that grows with F."""
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
