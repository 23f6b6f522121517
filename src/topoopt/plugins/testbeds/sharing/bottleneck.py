"""The network of jobs that share a link: a sender each, one receiver, a switch whose port to it is the bottleneck."""

from dataclasses import replace

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth, format_bytes
from topoopt.plugins.testbeds.network import Layout, switch_layout
from topoopt.plugins.testbeds.network.capacity import SHARE, carried, rounded_up
from topoopt.plugins.testbeds.network.shaping import SETTINGS, Shaping

FASTER = 4.0
"""Of all other links, so that packets wait and are dropped before the shared one alone."""
MTU_BYTES = 1500
SETTINGS_OF_SHARING = {**SETTINGS, "net.ipv4.tcp_slow_start_after_idle": "1"}
"""As kernels come: after computing a window is new, under every congestion control."""

SLOWEST_BPS = 1e6
"""A full packet takes 12 ms on it."""
_LEAST_PACKETS = 4  # three acknowledgments tell a loss
_LINKS = 2  # that a packet crosses
_MEASURED_MTU_BYTES = (
    9000  # of what the machine is measured with; a small packet costs as much as a large one
)


def check_link(capacity_bps: float, scale: float, queue_bytes: float) -> None:
    """Refuse a link that is too slow, and a queue that is too short, on any machine.

    Raises
    ------
    InvalidInput
        With the scale or the size that works.
    """
    bandwidth_bps = capacity_bps / scale
    if bandwidth_bps < SLOWEST_BPS:
        raise InvalidInput(
            f"scale {scale:g}: a link of {format_bandwidth(bandwidth_bps)} is too slow; "
            f"use {capacity_bps / SLOWEST_BPS:g} or less"
        )
    if queue_bytes < _LEAST_PACKETS * MTU_BYTES:
        raise InvalidInput(
            f"queue {format_bytes(queue_bytes)}: must hold {_LEAST_PACKETS} packets of {MTU_BYTES} bytes; "
            f"use {format_bytes(_LEAST_PACKETS * MTU_BYTES)} or more"
        )


def check_bottleneck(capacity_bps: float, scale: float, queue_bytes: float) -> None:
    """Refuse a link that this machine cannot carry, and what :func:`check_link` refuses.

    Raises
    ------
    InvalidInput
        With the scale that works.
    """
    check_link(capacity_bps, scale, queue_bytes)
    bandwidth_bps = capacity_bps / scale
    most_bps = carried() * SHARE * MTU_BYTES / _MEASURED_MTU_BYTES / _LINKS
    if bandwidth_bps > most_bps:
        raise InvalidInput(
            f"scale {scale:g}: the link is {format_bandwidth(bandwidth_bps)}, this machine carries one of "
            f"{format_bandwidth(most_bps)} (measured); use {rounded_up(capacity_bps / most_bps)} or more"
        )


def bottleneck_layout(jobs: int, bandwidth_bps: float, queue_bytes: int) -> Layout:
    """Return the layout of so many senders and, as the last server, the receiver.

    Parameters
    ----------
    bandwidth_bps : float
        Of the link from the switch to the receiver, which all jobs share.
    queue_bytes : int
        How much waits before it; what comes then is dropped.
    """
    layout = switch_layout(jobs + 1, FASTER * bandwidth_bps)
    *others, last = layout.cables
    shared = replace(last, b=replace(last.b, bandwidth_bps=bandwidth_bps))
    shaping = Shaping(MTU_BYTES, queue_bytes, SETTINGS_OF_SHARING)
    return replace(layout, cables=(*others, shared), shaping=shaping, why="one link is shared by all jobs")
