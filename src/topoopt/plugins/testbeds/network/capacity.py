"""Capacity of this host: the CPU time of sending a few megabytes over two links is measured."""

import math
import os
import secrets
import socket
import time
from functools import cache
from threading import Thread

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth
from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plugins.testbeds.namespaces import inside
from topoopt.plugins.testbeds.network.layout import Layout, direct_layout, identity
from topoopt.plugins.testbeds.network.testbed import Testbed, build
from topoopt.routing import Fabric, SingleShortestRoutes
from topoopt.topologies import Link, topology_from_links

SHARE = 0.25
"""Share of the CPU that all links together may take when they are full; the rest is for the programs that send and
receive, and for the timers that hold packets back, which the measurement does not include."""
SLOWEST_LINK_BPS = 1e6
"""A full packet takes 72 ms on it."""

_TRIAL_BPS = 30e9  # nothing is held back: a bucket's rate has 32 bits of bytes per second
_TRIAL_BYTES = 64 << 20
_PORT = 5001


def check_speed(layout: Layout, scale: float) -> None:
    """Refuse links that are too slow on any host.

    Raises
    ------
    InvalidInput
        With the largest scale that is allowed.
    """
    slowest = min(port.bandwidth_bps for port in layout.senders)
    if slowest / scale < SLOWEST_LINK_BPS:
        raise InvalidInput(
            f"scale {scale:g}: links of {format_bandwidth(slowest / scale)} are too slow for packets of 9,000 bytes; "
            f"use {slowest / SLOWEST_LINK_BPS:g} or less"
        )


def capable_scale(layout: Layout, scale: float, given: bool) -> float:
    """Return a scale at which this host carries a network with all links full; see :func:`held_scale`."""
    check_speed(layout, scale)
    held = held_scale("all links together are", layout.total_bandwidth_bps, carried() * SHARE, scale, given)
    check_speed(layout, held)
    return held


def held_scale(what: str, total_bps: float, carried_bps: float, scale: float, given: bool) -> float:
    """Return the given scale, or where none is given, the default or more: other programs have their part of the CPUs.

    Raises
    ------
    InvalidInput
        If a given scale is too small, with the least that is not.
    """
    others = 0.0 if given else os.getloadavg()[0] / len(os.sched_getaffinity(0))
    least = total_bps / carried_bps * (1 + others)
    if scale >= least:
        return scale
    if not given:
        return float(rounded_up(least))
    raise InvalidInput(
        f"scale {scale:g}: {what} {format_bandwidth(total_bps / scale)}, this machine carries "
        f"{format_bandwidth(carried_bps)} (measured); use {rounded_up(least)} or more"
    )


@cache
def carried() -> float:
    """Return the total rate of all links at which this host's CPUs would be busy, bits/s."""
    links = [Link(a, b, _TRIAL_BPS) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))]
    topology = topology_from_links("line", 3, links)
    wiring = Wiring("duplex", 2, 2, (Patch(0, 0, 1, 0), Patch(1, 1, 2, 0)))
    layout = direct_layout(Fabric("trial", topology, SingleShortestRoutes(topology), {}), wiring, _TRIAL_BPS)
    with build(layout, f"trial-{secrets.token_hex(4)}", 1.0) as testbed:
        cpu_s = _push(testbed, 0, 2)
        sent = sum(port.sent_bytes for port in testbed.counters())
    return 8 * sent / cpu_s * len(os.sched_getaffinity(0))


def rounded_up(scale: float) -> str:
    """Return a number of two digits that is not less, as text."""
    unit = 10.0 ** (math.floor(math.log10(scale)) - 1)
    return f"{math.ceil(scale / unit) * unit:g}"


def _push(testbed: Testbed, src: int, dst: int) -> float:
    """Send bytes from one server to another, and return the CPU time of both, including forwarding."""
    server = inside(testbed.namespace(dst), lambda: socket.create_server((identity(dst), _PORT)))
    spent: list[float] = []

    def receive() -> None:
        with server, server.accept()[0] as connection:
            room = bytearray(1 << 20)
            while connection.recv_into(room):
                pass
        spent.append(time.thread_time())

    def send() -> None:
        with socket.create_connection((identity(dst), _PORT)) as connection:
            data = bytes(1 << 20)
            for _ in range(_TRIAL_BYTES >> 20):
                connection.sendall(data)
        spent.append(time.thread_time())

    receiver = Thread(target=receive)
    receiver.start()
    inside(testbed.namespace(src), send)
    receiver.join()
    return sum(spent)
