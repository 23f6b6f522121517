"""The noun LinkCounters: what links had sent by some moments of a simulation, as ports of a network count it."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.flows import Flows
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COMPUTE

SAMPLES = 1000
"""Moments at equal distances at which counters are read."""


@dataclass(frozen=True, eq=False)
class LinkCounters:
    """Bytes of links by moments. Between two moments the rate is the mean.

    Attributes
    ----------
    link : int64 array, shape (links,)
        Numbers in the topology.
    times_s : float64 array, shape (samples,)
        Ascending; the first is 0, the last is when all is done.
    sent_bytes : float64 array, shape (samples, links)
        Since the beginning. The last row is the simulation's own count, ``SimResult.link_bytes``.
    """

    link: Ints
    times_s: Floats
    sent_bytes: Floats


def reading_times(result: SimResult, moments_s: Floats) -> Floats:
    """Return when counters are read: at equal distances, and at these moments where they are not too many."""
    end_s = float(result.finish_s.max(initial=0.0))
    regular = np.linspace(0.0, end_s, SAMPLES + 1)
    moments_s = np.unique(moments_s[(moments_s > 0) & (moments_s < end_s)])
    return regular if len(moments_s) > SAMPLES else np.unique(np.concatenate((regular, moments_s)))


def begin_of_flows_s(result: SimResult, flows: Flows) -> Floats:
    """Return when the first byte of each flow is ready to leave, shape (flows,), by the start of its task."""
    graph = result.graph
    delay_s = np.where(graph.kind == COMPUTE, 0.0, graph.duration_s)
    return np.repeat(result.start_s + delay_s, np.diff(flows.task_flow)) + flows.before_s
