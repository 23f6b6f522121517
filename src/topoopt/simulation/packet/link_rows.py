"""Rows of the packet engine's links, from a topology: times on the wire, thresholds and room."""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.options import PFC_STEP_PACKETS, UNBOUNDED_PACKETS, PacketOptions, Transport
from topoopt.topologies import Topology

PS = 1e12
MOST_SERIAL_PS = 10**15
"""A packet may take 1,000 s on a link; on a slower one times would not fit in 63 bits."""


def link_rows(topology: Topology, options: PacketOptions, transport: Transport) -> Ints:
    """Return the state of all links, idle, shape (links, ``len(Link)``).

    A link from a server into a switched fabric is the server's own interface: it neither marks nor drops, for
    the sender would rather wait than lose a packet in its own memory.

    Raises
    ------
    InvalidInput
        If a link is too slow to be simulated.
    """
    rows = np.zeros((len(topology), len(layout.Link)), np.int64)
    serial = [layout.Link.SERIAL, layout.Link.SERIAL_OPEN, layout.Link.SERIAL_ACK]
    rows[:, serial] = serial_columns(topology.bandwidth_bps, options.compat)
    rows[:, layout.Link.LATENCY] = np.rint(topology.latency_s * PS).astype(np.int64)
    for name in ("BASE", "MASK", "WAIT_HEAD", "WAIT_TAIL", "WAKE_AT", "LAST", "LAST_BUT_ONE"):
        rows[:, layout.Link[name]] = -1
    rows[:, layout.Link.DST] = topology.dst
    marking = ~is_server_interface(topology)
    low, high = mark_bytes(options, transport)
    rows[:, layout.Link.MARK_LOW] = np.where(marking, low, layout.NEVER)
    rows[:, layout.Link.MARK_HIGH] = np.where(marking, high, layout.NEVER)
    room = layout.NEVER if options.buffer_packets is None else options.buffer_packets * layout.SIZE_DATA
    rows[:, layout.Link.LIMIT] = np.where(marking, room, layout.NEVER)
    return rows


def serial_columns(bandwidth_bps: Floats, compat: str) -> Ints:
    """Return the times of data, of an opening packet and of an acknowledgment on each link, shape (links, 3)."""
    sizes = (layout.SIZE_DATA, layout.SIZE_OPEN, layout.SIZE_ACK)
    return np.stack([serial_ps(bandwidth_bps, size, compat) for size in sizes], axis=1)


def serial_ps(bandwidth_bps: Floats, size_bytes: int, compat: str) -> Ints:
    """Return the time of a packet on each link; FlexNetPacket cuts the time of a byte to whole picoseconds."""
    if (bandwidth_bps <= 0).any():
        raise InvalidInput("packet simulator: a link has no bandwidth")
    per_byte = 8.0 * PS / bandwidth_bps
    time = np.floor(per_byte + 1e-9) * size_bytes if compat == "flexnetpacket" else per_byte * size_bytes
    if (time > MOST_SERIAL_PS).any():
        slowest = bandwidth_bps.min()
        raise InvalidInput(f"packet simulator: a link of {slowest:g} bit/s is too slow; use simulator=flow")
    return np.maximum(np.rint(time), 1).astype(np.int64)


def is_server_interface(topology: Topology) -> NDArray[np.bool_]:
    """Return whether each link leads from a server to a switch."""
    interface: NDArray[np.bool_] = (topology.src < topology.servers) & (topology.dst >= topology.servers)
    return interface


def pfc_bytes(options: PacketOptions, transport: Transport) -> tuple[int, int]:
    """Return the bytes from a link that may wait before it is paused, and those at which it resumes."""
    off, on = transport.pfc_off_packets, transport.pfc_on_packets
    if options.pfc_packets is not None:
        off = options.pfc_packets or UNBOUNDED_PACKETS
        on = max(off - PFC_STEP_PACKETS, off / 2.0)
    if off >= UNBOUNDED_PACKETS:
        return layout.NEVER, layout.NEVER
    return round(off * layout.SIZE_DATA), round(on * layout.SIZE_DATA)


def mark_bytes(options: PacketOptions, transport: Transport) -> tuple[int, int]:
    """Return the queues, in bytes, between which marking begins and is sure."""
    low, high = transport.mark_low_packets, transport.mark_high_packets
    if options.mark_packets is not None:
        low = high = options.mark_packets or UNBOUNDED_PACKETS
    return tuple(
        layout.NEVER if value >= UNBOUNDED_PACKETS else round(value * layout.SIZE_DATA)
        for value in (low, high)
    )  # type: ignore[return-value]
