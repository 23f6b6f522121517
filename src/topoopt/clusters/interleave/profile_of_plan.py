"""From a simulation of a job to the profile of a link: what the job sends there in one iteration, and when."""

from collections.abc import Mapping

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.measured.byte_curve import ByteCurve
from topoopt.clusters.interleave.measured.few_phases import TOLERANCE, few_phases
from topoopt.clusters.interleave.profile import CommunicationProfile
from topoopt.routing import Fabric
from topoopt.simulation import SimResult, link_counters

Ends = tuple[int, int]
"""From which node to which a link leads."""


def profiles_of_links(
    job: str, result: SimResult, fabric: Fabric, links: list[Ends], tolerance: float = TOLERANCE
) -> Mapping[Ends, CommunicationProfile]:
    """Return what a job sends on links in one iteration, as a simulation says.

    Bytes are those that the simulator counts: payload, of packets with their headers. Of several simulated iterations
    it is the mean of those in the middle, that follow one another in the steady state.

    Parameters
    ----------
    job : str
        What it is called.
    result : SimResult
        Of any simulator, on this fabric.
    tolerance : float
        Share of a link's bytes that may be sent at another moment, for fewer phases.

    Raises
    ------
    InvalidInput
        If there is no such link, or circuits change over time.
    """
    numbers = np.array([_number(fabric, ends) for ends in links], np.int64)
    counters = link_counters(result, fabric, numbers)
    starts_s, period_s = _iterations(result)
    profiles = {}
    for column, ends in enumerate(links):
        curve = ByteCurve(counters.times_s, counters.sent_bytes[:, column])
        phases = few_phases(curve.folded(starts_s, period_s), tolerance)
        profiles[ends] = CommunicationProfile(job, period_s, phases)
    return profiles


def busiest_uplink(result: SimResult, fabric: Fabric) -> Ends:
    """Return the link out of a server that is busy for longest; of several the first."""
    topology = fabric.topology
    busy_s = np.where(topology.src < topology.servers, result.link_bytes * 8 / topology.bandwidth_bps, -1.0)
    link = int(np.argmax(busy_s))
    return int(topology.src[link]), int(topology.dst[link])


def _number(fabric: Fabric, ends: Ends) -> int:
    topology = fabric.topology
    number = topology.link_id(*ends) if max(ends) < topology.nodes and min(ends) >= 0 else -1
    if number < 0:
        raise InvalidInput(
            f"link: fabric {fabric.name} has no link {ends[0]}-{ends[1]}; nodes are 0..{topology.nodes - 1}, servers "
            "first; name two that are joined"
        )
    return int(number)


def _iterations(result: SimResult) -> tuple[Floats, float]:
    """Return when the iterations begin of which the mean is taken, and how long they take."""
    graph, period_s = result.graph, result.iteration_time_s
    if graph.iterations == 1:
        return np.zeros(1), period_s
    first_end_s = float(result.finish_s[graph.iteration == 0].max())
    return first_end_s + period_s * np.arange(max(graph.iterations - 2, 1), dtype=np.float64), period_s
