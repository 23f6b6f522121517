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
    )
