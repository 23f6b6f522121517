"""Counters of the flow simulator: its engine once more, stopped wherever a counter is read."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import Fabric
from topoopt.simulation.counters.link_counters import LinkCounters, begin_of_flows_s, reading_times
from topoopt.simulation.csr import owners
from topoopt.simulation.flows import Flows, make_flows
from topoopt.simulation.fluid.engine import before_flows
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.link_classes import sum_by
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COMPUTE


def max_min_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links; see :class:`topoopt.simulation.CounterReader`.

    Classes of flows send whole packets; what they count is their payload, the same part of each byte of a class.
    """
    graph = result.graph
    flows = make_flows(graph, fabric, result.options)
    ends_s = result.finish_s[graph.kind != COMPUTE]
    times_s = reading_times(result, np.concatenate((begin_of_flows_s(result, flows), ends_s)))
    of_class, column, payload = _entries_on(flows, links, len(fabric.topology))
    sent = np.zeros((len(times_s), len(links)))
    for row, part in enumerate(_sent_parts(result, fabric, flows, times_s)):
        sent[row] = np.bincount(column, payload * part[of_class], minlength=len(links))
    return LinkCounters(links, times_s, sent)


def _entries_on(flows: Flows, links: Ints, count: int) -> tuple[Ints, Ints, Floats]:
    """Return class, place of the link among those wanted, and bytes of what each class puts on a wanted link."""
    place = np.full(count, -1)
    place[links] = np.arange(len(links))
    kept = np.flatnonzero(place[flows.class_link] >= 0)
    of_class = owners(flows.class_first)[kept]
    payload = sum_by(flows.flow_class, flows.payload_bytes, len(flows.class_first) - 1)
    return of_class, place[flows.class_link[kept]], payload[of_class] * flows.class_coefficient[kept]


def _sent_parts(result: SimResult, fabric: Fabric, flows: Flows, times_s: Floats) -> Iterator[Floats]:
    """Yield the part of each class's bytes that is sent by each moment, shape (classes,)."""
    state, net, delays = before_flows(result.graph, flows, fabric.topology.bandwidth_bps / 8.0)
    whole = sum_by(flows.flow_class, flows.occupied_bytes / flows.weight, len(state.sharing.first))
    left, tolerance = np.zeros(len(whole)), result.options.tolerance or 0.0
    for time_s in times_s[:-1]:
        advance(state, net, delays, time_s, tolerance)
        bytes_left(state.sharing, left)
        yield np.minimum((state.rounds.entered - left) / np.where(whole > 0, whole, 1.0), 1.0)
    yield np.ones(len(whole))
