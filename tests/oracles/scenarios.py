"""The cases that packet simulators are compared on, and the figures that each gives: data only.

A scenario is a dumbbell: every flow has a sender and a receiver of its own, two routers, and one bottleneck
between the routers. Read also by a script under another Python, so nothing but the standard library here.
"""

from dataclasses import dataclass

HEADER_BYTES = 42
"""Of IPv4, TCP without options, and PPP: what ns-3 adds to a segment on the wire."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A dumbbell and its flows.

    Attributes
    ----------
    transport : str
        Our name: dctcp, reno or cubic.
    bandwidth_bps, rtt_s : float
        Of the bottleneck; and of the whole way there and back when nothing waits: the bottleneck has 0.8 of
        each way's latency, the links to and from the routers 0.1 each.
    size_packets : tuple of int
        Of each flow, full packets on the wire.
    start_s : tuple of float
    buffer_packets : int
        Room of the bottleneck's queue.
    mark_packets : int
        Packets are marked above so many in the queue; 0 for none.
    first_window_packets : int
    timeout_min_s : float
    packet_bytes : int
        Of a full packet on the wire, with all headers.
    access_factor : float
        Bandwidth of the other links over the bottleneck's.
    measure_s : tuple of two floats
        When shares and the queue are measured: after the start has settled, before the first flow ends.
    stop_s : float
        When a run is given up.
    """

    transport: str
    bandwidth_bps: float
    rtt_s: float
    size_packets: tuple[int, ...]
    start_s: tuple[float, ...]
    buffer_packets: int
    mark_packets: int
    first_window_packets: int
    measure_s: tuple[float, float]
    stop_s: float
    timeout_min_s: float = 1.0
    packet_bytes: int = 8936
    access_factor: float = 10.0

    @property
    def bottleneck_s(self) -> float:
        """Latency of the bottleneck, one way."""
        return 0.4 * self.rtt_s

    @property
    def access_s(self) -> float:
        """Latency of each other link, one way."""
        return 0.05 * self.rtt_s


@dataclass(frozen=True, slots=True)
class Figures:
    """What a packet simulator saw of a scenario.

    Attributes
    ----------
    finish_s : list of float
        Of each flow, from its start to its last byte at the receiver.
    share : list of float
        Of each flow, in what receivers got while it was measured.
    utilization : float
        Of the bottleneck while it was measured.
    queue_mean, queue_min, queue_max : float
        Packets that waited for the bottleneck while it was measured; the one being sent does not count.
    drops, marks : int
        At the bottleneck, over the whole run.
    period_s : list of float
        Of each flow, mean time between cuts of its congestion window while it was measured; 0 if fewer than two.
    peak_packets : list of float
        Mean congestion window just before a cut.
    """

    finish_s: list[float]
    share: list[float]
    utilization: float
    queue_mean: float
    queue_min: float
    queue_max: float
    drops: int
    marks: int
    period_s: list[float]
    peak_packets: list[float]


def _reno(*size_packets: int) -> Scenario:
    # bandwidth x delay is 28 packets, and so is the buffer: the sawtooth just keeps the link busy
    start_s = tuple(0.05 * flow for flow in range(len(size_packets)))
    return Scenario("reno", 1e9, 2e-3, size_packets, start_s, 28, 0, 10, (0.5, 1.7), 6.0)


def _cubic(*size_packets: int) -> Scenario:
    # 280 packets in flight and a round trip long enough for the cubic law, not its Reno-friendly part
    start_s = tuple(0.1 * flow for flow in range(len(size_packets)))
    return Scenario("cubic", 100e6, 200e-3, size_packets, start_s, 70, 0, 10, (15.0, 45.0), 120.0)


def _dctcp(*size_packets: int) -> Scenario:
    # 28 packets in flight at K = 20; DCTCP asks for K above a seventh of that
    start_s = tuple(0.01 * flow for flow in range(len(size_packets)))
    return Scenario("dctcp", 1e9, 2e-3, size_packets, start_s, 500, 20, 100, (0.5, 1.9), 10.0)


def _alone(packets: int, *others: int) -> Scenario:
    """Flows that never lose a packet: what is compared is slow start.

    At first ns-3 sends seven packets, not ten: the window that a SYN can offer ends at 65,535 bytes.
    """
    size = (packets, *others)
    return Scenario("reno", 1e9, 2e-3, size, (0.0,) * len(size), 10_000, 0, 10, (0.0, 1.0), 10.0)


SCENARIOS = {
    "one reno flow": _reno(30_000),
    "two reno flows": _reno(15_000, 15_000),
    "one cubic flow": _cubic(84_000),
    "two cubic flows": _cubic(42_000, 42_000),
    "one dctcp flow": _dctcp(28_000),
    "two dctcp flows": _dctcp(14_000, 14_000),
    "a long and a short dctcp flow": _dctcp(4_000, 400),
    "1 packet": _alone(1),
    "7 packets": _alone(7),
    "100 packets": _alone(100),
    "1000 packets": _alone(1000),
    "two flows of 1000 packets": _alone(1000, 1000),
}
