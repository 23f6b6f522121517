"""A fabric for jobs that share links: every job's phases in a lane of their own, over the shared links in a row."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob
from topoopt.routing import Fabric, Path, explicit_routes
from topoopt.topologies import Link, topology_from_links

FASTER = 2.0
"""Links that only join others have so many times the largest bandwidth there is: nothing ever waits for them."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Where a phase sends.

    Attributes
    ----------
    end : int
        The receiver, in the job's own numbers; its sender is 0.
    bandwidth_bps : float
        The most that goes in.
    links : tuple of int
        The shared links that it crosses.
    """

    end: int
    bandwidth_bps: float
    links: tuple[int, ...]


def periodic_fabric(
    jobs: Sequence[PeriodicJob], capacities_bps: Sequence[float] | Floats, round_trip_s: float
) -> tuple[Fabric, list[list[Lane]]]:
    """Return the fabric, whose servers are the jobs' one after the other, and the lane of each phase that sends.

    A job has a sender, and a receiver for each kind of phase. All links have an opposite, for acknowledgments. The time
    of the way is that of its first link.

    Raises
    ------
    InvalidInput
        For links and capacities that cannot be, and coefficients other than 1.
    """
    capacities = [float(size) for size in capacities_bps]
    lanes = [_lanes(job, len(capacities)) for job in jobs]
    for link, size in enumerate(capacities):
        if not 0 < size < math.inf:
            raise InvalidInput(f"link {link}: capacity {size:g} b/s: expected a finite bandwidth > 0")
    fast_bps = FASTER * max(
        [*capacities, *(lane.bandwidth_bps for row in lanes for lane in row)], default=1.0
    )
    ends = [1 + max((lane.end for lane in row), default=0) for row in lanes]
    node = servers = sum(ends)
    cables: dict[tuple[int, int], tuple[float, float]] = {}
    for number, size in enumerate(capacities):
        cables[ends_of_link(servers, number)] = (size, 0.0)
    node += 2 * len(capacities)
    paths, sender = [], 0
    for row, count in zip(lanes, ends, strict=True):
        for lane in dict.fromkeys(row):
            gate = (node, node + 1)
            node += 2
            inside = [switch for link in lane.links for switch in ends_of_link(servers, link)]
            nodes = (sender, *gate, *inside, sender + lane.end)
            for pair in itertools.pairwise(nodes):
                cables.setdefault(pair, (fast_bps, 0.0))
            cables[sender, gate[0]] = (fast_bps, round_trip_s / 2)
            cables[gate] = (lane.bandwidth_bps, 0.0)
            paths.append(Path(nodes, 1.0))
        sender += count
    links = [Link(a, b, *size) for (a, b), size in cables.items()]
    links += [Link(b, a, *size) for (a, b), size in cables.items() if (b, a) not in cables]
    topology = topology_from_links("shared links", servers, links, node)
    return Fabric("shared links", topology, explicit_routes(topology, paths), {}), lanes


def ends_of_link(servers: int, link: int) -> tuple[int, int]:
    """Return the switches that a shared link joins, which come behind the servers."""
    return servers + 2 * link, servers + 2 * link + 1


def _lanes(job: PeriodicJob, links: int) -> list[Lane]:
    """Return the lane of each phase that sends; phases of one bandwidth and the same links have one."""
    here, lanes = f"job {job.profile.job}", []
    kinds: dict[tuple[float, tuple[int, ...]], int] = {}
    for place, phase in enumerate(job.profile.phases):
        if phase.bandwidth_bps == 0:
            continue
        for link, part in job.phase_links(place).items():
            if not 0 <= link < links:
                raise InvalidInput(f"{here}: link {link}: there are links 0..{links - 1}; give its capacity")
            if part != 1:
                raise InvalidInput(
                    f"{here}: link {link}: coefficient {part:g}: packets have 1 only; take the fluid simulator"
                )
        kind = (phase.bandwidth_bps, tuple(sorted(job.phase_links(place))))
        lanes.append(Lane(kinds.setdefault(kind, 1 + len(kinds)), *kind))
    return lanes
