"""How a bandwidth becomes a token bucket, and what else the kernel is told so that rates and counts are right.

Packets are made at their size on the wire: segmentation offload is off on all cables (at most one segment a buffer), so
that a bucket and a counter see every header, and a packet of 9,000 bytes counts 9,014. A bucket holds two packets, or
what the link sends in two milliseconds where that is more: timers of a busy machine are late by so much. A queue
takes more than all windows that meet in it, so that nothing is lost on the way and no byte counted twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

HEADER_BYTES = 14
"""Of Ethernet, which interfaces count."""
QUEUE_BYTES = 4 << 20
"""How much waits before a link at most: 16 windows."""

_WINDOW_BYTES = 1 << 18
_LATE_S = 2e-3

SETTINGS = MappingProxyType(
    {
        "net.ipv4.ip_forward": "1",
        "net.ipv4.conf.all.rp_filter": "0",  # packets may come by another link than answers go
        "net.ipv4.conf.default.rp_filter": "0",
        "net.ipv4.conf.all.send_redirects": "0",
        "net.ipv4.conf.default.send_redirects": "0",
        "net.ipv4.fib_multipath_hash_policy": "1",  # parallel links share connections, not servers
        "net.ipv4.tcp_slow_start_after_idle": "0",  # a ring waits for its neighbors at every step
        "net.ipv4.tcp_no_metrics_save": "1",  # no run learns from the one before
        "net.ipv4.tcp_rmem": f"4096 131072 {2 * _WINDOW_BYTES}",  # half of it is window
        "net.ipv4.tcp_wmem": f"4096 65536 {2 * _WINDOW_BYTES}",
        "net.ipv6.conf.all.disable_ipv6": "1",  # nothing speaks but the programs
        "net.ipv6.conf.default.disable_ipv6": "1",
    }
)
"""What every server's kernel is told."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """How large packets are, how many wait, and what every kernel is told.

    Attributes
    ----------
    mtu_bytes : int
        Largest IP packet on every cable.
    queue_bytes : int
        How much waits before a link at most; more is dropped.
    settings : mapping
        By the name of a setting of the kernel.
    """

    mtu_bytes: int
    queue_bytes: int
    settings: Mapping[str, str]

    @property
    def frame_bytes(self) -> int:
        """A full packet, as interfaces count it."""
        return self.mtu_bytes + HEADER_BYTES

    def bucket_bytes(self, bandwidth_bps: float) -> int:
        """Return how much a link may send at once after it was idle."""
        return max(2 * self.frame_bytes, int(bandwidth_bps / 8 * _LATE_S))


LOSSLESS = Shaping(9000, QUEUE_BYTES, SETTINGS)
"""Of a plan's network: large packets, and queues that hold all windows that meet in them."""
