"""From the engine's last state to what it counted: statistics, and a row for each connection."""

import numpy as np

from topoopt.simulate.flow_table import FlowTable
from topoopt.simulate.packet.edges import Edges
from topoopt.simulate.packet.kernel import layout
from topoopt.simulate.packet.kernel.layout import State
from topoopt.simulate.packet.link_rows import PS
from topoopt.simulate.packet.state import memory_bytes
from topoopt.simulate.packet.statistics import PacketStatistics
from topoopt.simulate.packet.streams import Streams
from topoopt.simulate.task_graph import Ints


def statistics(state: State) -> PacketStatistics:
    """Return the counts of a finished run."""
    count, link = state.count, state.link
    return PacketStatistics(
        connections=int(count[layout.CONNECTIONS]),
        packets=int(count[layout.SENT]),
        delivered=int(count[layout.DELIVERED]),
        packet_hops=int(count[layout.HOPS]),
        events=int(count[layout.EVENTS]),
        marks=int(count[layout.MARKS]),
        drops=int(count[layout.DROPPED]),
        timeouts=int(count[layout.TIMEOUTS]),
        resent=int(count[layout.RESENT]),
        pauses=int(count[layout.PAUSES]),
        peak_memory_bytes=memory_bytes(state),
        link_packets=link[:, layout.LINK_PACKETS].copy(),
        link_wire_bytes=link[:, layout.LINK_BYTES].copy(),
        link_marks=link[:, layout.LINK_MARKS].copy(),
        link_drops=link[:, layout.LINK_DROPS].copy(),
        link_queue_peak_bytes=link[:, layout.LINK_PEAK].copy(),
    )


def flow_table(state: State, edges: Edges, streams: Streams) -> FlowTable:
    """Return a row for each connection, in the order in which they ended."""
    rows = state.log[: state.count[layout.LOGGED]]
    stream, pair = rows[:, layout.L_STREAM], rows[:, layout.L_PAIR]
    hops = np.diff(edges.paths.path_first)[rows[:, layout.L_PATH]]
    return FlowTable(
        task=streams.task[stream],
        src=edges.src[pair],
        dst=edges.dst[pair],
        size_bytes=streams.size_bytes[stream],
        start_s=rows[:, layout.L_START] / PS,
        finish_s=rows[:, layout.L_FINISH] / PS,
        hops=hops,
        packets=rows[:, layout.L_PACKETS],
        marks=rows[:, layout.L_MARKS],
        resent=rows[:, layout.L_RESENT],
        alone_s=_alone_ps(state, edges, rows) / PS,
    )


def _alone_ps(state: State, edges: Edges, rows: Ints) -> Ints:
    """Return the closed form of each connection: its opening, its packets on the slowest link, one on each other."""
    table, link = edges.paths, state.link
    hops = np.diff(table.path_first)
    if not hops.any():  # circuits that change: one of them
        packet, once = link[:, layout.SERIAL].min(), link[:, layout.SERIAL_OPEN].min()
        alone: Ints = once + 2 * link[:, layout.LATENCY].min() + rows[:, layout.L_PACKETS] * packet
        return alone
    first, used = table.path_first[:-1], link[table.link]
    packet = np.add.reduceat(used[:, layout.SERIAL], first)
    slowest = np.maximum.reduceat(used[:, layout.SERIAL], first)
    once = np.add.reduceat(used[:, layout.SERIAL_OPEN] + 2 * used[:, layout.LATENCY], first)
    path = rows[:, layout.L_PATH]
    found: Ints = (once + packet - slowest)[path] + rows[:, layout.L_PACKETS] * slowest[path]
    return found
