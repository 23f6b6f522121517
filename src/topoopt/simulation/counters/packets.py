"""Counters of the packet simulator: its engine once more, in slices of time, between which counters are read."""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.routing import Fabric
from topoopt.simulation.counters.link_counters import LinkCounters, reading_times
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.run import run_until
from topoopt.simulation.packet.simulator import before_packets
from topoopt.simulation.result import SimResult
from topoopt.simulation.start_order import renumbered, start_order


def packet_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links, headers included; see :class:`topoopt.simulation.CounterReader`."""
    options = result.options
    graph = renumbered(result.graph, start_order(len(result.graph), options.seed))
    state, edges, _ = before_packets(graph, fabric, options)
    most_successors = int(np.diff(graph.successor_first).max(initial=0))
    times_s = reading_times(result, np.zeros(0))
    sent = np.zeros((len(times_s), len(links)))
    for row, time_s in enumerate(times_s):
        until_ps = round(time_s * PS) if row < len(times_s) - 1 else layout.NEVER
        state, _ = run_until(state, until_ps, edges, options.packet, most_successors)
        sent[row] = state.link[links, layout.Link.BYTES]
    return LinkCounters(links, times_s, sent)
