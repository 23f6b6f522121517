"""Counters of the analytic simulator: a link sends at full bandwidth from when bytes wait for it until none do.

Links serve what comes in order, each for itself. So when a link is busy follows from when bytes come, and how many.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import Fabric
from topoopt.simulation.counters.link_counters import LinkCounters, begin_of_flows_s, reading_times
from topoopt.simulation.csr import entries_of
from topoopt.simulation.flows import make_flows
from topoopt.simulation.result import SimResult


def first_come_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links; see :class:`topoopt.simulation.CounterReader`."""
    flows = make_flows(result.graph, fabric, result.options)
    begin_s = begin_of_flows_s(result, flows)
    wanted = np.full(len(fabric.topology), -1)
    wanted[links] = np.arange(len(links))
    entry, flow = entries_of(flows.class_first, flows.flow_class)
    column = wanted[flows.class_link[entry]]
    entry, flow, column = entry[column >= 0], flow[column >= 0], column[column >= 0]
    share = flows.class_coefficient[entry]
    seconds = flows.occupied_bytes[flow] * share * 8.0 / fabric.topology.bandwidth_bps[links[column]]
    payload = flows.payload_bytes[flow] * share
    curves = []
    for number in range(len(links)):
        own = np.flatnonzero(column == number)
        own = own[np.argsort(begin_s[flow[own]], kind="stable")]
        curves.append(_busy_curve(begin_s[flow[own]], seconds[own], payload[own]))
    times_s = reading_times(result, np.concatenate([curve[0] for curve in curves]))
    sent = [np.interp(times_s, *curve) for curve in curves]
    return LinkCounters(links, times_s, np.stack(sent, axis=1))


def _busy_curve(begin_s: Floats, seconds: Floats, payload: Floats) -> tuple[Floats, Floats]:
    """Return the corners of what a link has sent: of bytes that come in this order, and take so long each."""
    if not len(begin_s):
        return np.zeros(1), np.zeros(1)
    served = np.cumsum(seconds)
    end_s = served + np.maximum.accumulate(begin_s - (served - seconds))
    sent = np.cumsum(payload)
    corners = np.stack((end_s - seconds, end_s), axis=1).ravel()
    return np.maximum.accumulate(corners), np.stack((sent - payload, sent), axis=1).ravel()
