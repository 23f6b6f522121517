"""From the engine's last state to what it counted: statistics, and a row for each connection."""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.flow_table import FlowTable
from topoopt.simulation.packet.edges import Edges
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.state import memory_bytes
from topoopt.simulation.packet.statistics import PacketStatistics
from topoopt.simulation.packet.streams import Streams


def statistics(state: State, streams: Streams) -> PacketStatistics:
    """Return the counts of a finished run."""
    count, link = state.count, state.link
    return PacketStatistics(
        connections=int(count[layout.Count.CONNECTIONS]),
        packets=int(count[layout.Count.SENT]),
        delivered=int(count[layout.Count.DELIVERED]),
        packet_hops=int(count[layout.Count.HOPS]),
        events=int(count[layout.Count.EVENTS]),
        marks=int(count[layout.Count.MARKS]),
        drops=int(count[layout.Count.DROPPED]),
        timeouts=int(count[layout.Count.TIMEOUTS]),
        resent=int(count[layout.Count.RESENT]),
        pauses=int(count[layout.Count.PAUSES]),
        peak_memory_bytes=memory_bytes(state),
        task_marks=np.bincount(
            streams.task, state.stream[:, layout.Stream.MARKS], minlength=len(state.task)
        ).astype(np.int64),
        link_packets=link[:, layout.Link.PACKETS].copy(),
        link_wire_bytes=link[:, layout.Link.BYTES].copy(),
        link_marks=link[:, layout.Link.MARKS].copy(),
        link_drops=link[:, layout.Link.DROPS].copy(),
        link_queue_peak_bytes=link[:, layout.Link.PEAK].copy(),
    )


def flow_table(state: State, edges: Edges, streams: Streams) -> FlowTable:
    """Return a row for each connection, in the order in which they ended."""
    rows = state.log[: state.count[layout.Count.LOGGED]]
    stream, pair = rows[:, layout.Log.STREAM], rows[:, layout.Log.PAIR]
    hops = np.diff(edges.paths.path_first)[rows[:, layout.Log.PATH]]
    return FlowTable(
        task=streams.task[stream],
        src=edges.src[pair],
        dst=edges.dst[pair],
        size_bytes=streams.size_bytes[stream],
        start_s=rows[:, layout.Log.START] / PS,
        finish_s=rows[:, layout.Log.FINISH] / PS,
        hops=hops,
        packets=rows[:, layout.Log.PACKETS],
        marks=rows[:, layout.Log.MARKS],
        resent=rows[:, layout.Log.RESENT],
        alone_s=_alone_ps(state, edges, rows) / PS,
    )


def _alone_ps(state: State, edges: Edges, rows: Ints) -> Ints:
    """Return the closed form of each connection: its opening, its packets on the slowest link, one on each other."""
    table, link = edges.paths, state.link
    hops = np.diff(table.path_first)
    if not hops.any():  # circuits that change: one of them
        packet, once = link[:, layout.Link.SERIAL].min(), link[:, layout.Link.SERIAL_OPEN].min()
        alone: Ints = once + 2 * link[:, layout.Link.LATENCY].min() + rows[:, layout.Log.PACKETS] * packet
        return alone
    first, used = table.path_first[:-1], link[table.link]
    packet = np.add.reduceat(used[:, layout.Link.SERIAL], first)
    slowest = np.maximum.reduceat(used[:, layout.Link.SERIAL], first)
    once = np.add.reduceat(used[:, layout.Link.SERIAL_OPEN] + 2 * used[:, layout.Link.LATENCY], first)
    path = rows[:, layout.Log.PATH]
    several: Ints = (once + packet - slowest)[path] + rows[:, layout.Log.PACKETS] * slowest[path]
    return several
