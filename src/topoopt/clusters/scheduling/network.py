"""A cluster under a scheduler: its settings, and the network of links and racks between its workers.

The preset ``cassini-24``: 24 servers on 13 logical switches, as in CASSINI's testbed.

Published are the counts: 24 servers of one A100 each, 50 Gb/s, 13 logical switches, 48 duplex links, 2:1
oversubscribed. How they are wired is not. This is a stand-in that has all of these numbers: six racks of four servers
with two links up, two pods of three racks and two aggregation switches, and three core switches, each with a link to
every aggregation switch. So 6 + 4 + 3 switches, 24 + 12 + 12 links, each of 50 Gb/s, and 2:1 at the racks only.

References
----------
.. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 5.1.
"""

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_fields
from topoopt.clusters.interleave import MERGING, SHARINGS
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.routing import EcmpRoutes, Fabric, PathTable, chosen_paths, cumulative_weights, path_table
from topoopt.topologies import Link, hops_from, topology_from_links

EPOCH_S = 600.0
"""Themis' epoch in CASSINI's evaluation."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """Settings for allocating the workers of a cluster.

    Attributes
    ----------
    scheduler : str
        Name in :data:`SCHEDULERS`.
    cassini : bool
        Whether the placement is chosen by compatibility among candidates, and jobs are shifted in time.
    merging : str
        Name in :data:`topoopt.clusters.interleave.MERGING`: which links count as one in CASSINI's affinity graph.
    sharing : str
        Name in :data:`topoopt.clusters.interleave.SHARINGS`: how jobs share a link.
    epoch_s : float
        Duration of a lease.
    restart_s : float
        Time for which a job stops when its workers change; the papers give none.
    jitter : float
        Standard deviation of each stretch of computing, as a part of its length.
    noise_scale : float
        Gradient noise scale of Pollux's statistical efficiency, over the batch that a job asks for. It changes over a
        training and is not published for these models: ours.
    weighting : str
        Name in :data:`topoopt.clusters.WEIGHTINGS`.
    staggered : bool
        Jobs that get their first workers begin at a random time within an iteration; else at once. Nobody begins to
        the microsecond with another job, and MLTCP would never separate such jobs.
    seed : int
        Random seed of everything.

    Raises
    ------
    InvalidInput
        If a value is out of range, or the two are inconsistent.
    """

    scheduler: str
    cassini: bool = False
    merging: str = "identical"
    sharing: str = "fair"
    epoch_s: float = EPOCH_S
    restart_s: float = 0.0
    jitter: float = 0.0
    noise_scale: float = 1.0
    weighting: str = "jobs"
    staggered: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, scheduler=SCHEDULERS, merging=MERGING, sharing=SHARINGS)
        if self.cassini and SCHEDULERS[self.scheduler].dedicated:
            raise InvalidInput(
                f"cassini: with scheduler {self.scheduler} no job shares a link; "
                "take themis, pollux, proximity or random"
            )
        for name, least in (
            ("epoch_s", True),
            ("noise_scale", True),
            ("restart_s", False),
            ("jitter", False),
        ):
            value = getattr(self, name)
            if not 0 <= value < float("inf") or (least and not value):
                raise InvalidInput(f"{name}: expected a number {'>' if least else '>='} 0, got {value:g}")

    @property
    def name(self) -> str:
        """Scheduler and the module combined with it: ``themis+cassini``, ``themis+mltcp``."""
        parts = [self.scheduler, *["cassini"] * self.cassini, *[self.sharing] * (self.sharing != "fair")]
        return "+".join(parts)

    def described(self) -> Mapping[str, Any]:
        """Return the settings, as recorded in a result."""
        return asdict(self)


POD_HOPS = 4
"""Most links between two servers of one pod: through an aggregation switch."""


@dataclass(frozen=True, eq=False)
class WorkerNetwork:
    """A fabric with every switch as a node, as jobs on single workers use it.

    Attributes
    ----------
    fabric : Fabric
    description : str
        Source of its figures.
    seed : int
        Random seed of path draws.
    """

    fabric: Fabric
    description: str
    seed: int = 0

    @property
    def servers(self) -> int:
        """Workers, one a server."""
        return self.fabric.topology.servers

    @property
    def capacities_bps(self) -> Floats:
        """Capacity of each directed link, shape (links,)."""
        return self.fabric.topology.bandwidth_bps

    @cached_property
    def server_bandwidth_bps(self) -> float:
        """All links out of a server together."""
        topology = self.fabric.topology
        return float(topology.bandwidth_bps[topology.src == 0].sum())

    @cached_property
    def racks(self) -> tuple[int, ...]:
        """Rack of each server: servers that have their first switch in common."""
        topology = self.fabric.topology
        first = [int(topology.dst[topology.first_link[server]]) for server in range(self.servers)]
        return _numbered(first)

    @cached_property
    def pods(self) -> tuple[int, ...]:
        """Pod of each server; servers in a pod are joined by two tiers of switches above their own."""
        hops = hops_from(self.fabric.topology, np.arange(self.servers))[:, : self.servers]
        return _numbered([int(np.flatnonzero(row <= POD_HOPS)[0]) for row in hops])

    def link_shares(self, job: str, src: Ints, dst: Ints, share: Floats) -> tuple[Ints, Floats]:
        """Return the links that a job's connections cross, and the sum of their shares on each.

        Every pair has one connection. It takes one of the pair's paths, drawn by weight as switches hash it, the same
        as long as the job runs on these servers.

        Parameters
        ----------
        src, dst : int64 arrays, shape (pairs,)
            Servers of the network.
        share : float64 array, shape (pairs,)
            Rate of each connection, relative to some common rate.

        Returns
        -------
        int64 array, float64 array, shape (links used,)
            Links in ascending order.
        """
        table, cumulative = self._paths
        pair = src * self.servers + dst
        seed = zlib.crc32(job.encode()) + (self.seed << 32)
        path = chosen_paths(table.pair_first, cumulative, pair, pair, seed)
        first, last = table.path_first[path], table.path_first[path + 1]
        rows = [table.link[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        crossed = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        total = np.bincount(crossed, np.repeat(share, last - first), minlength=len(self.capacities_bps))
        links = np.flatnonzero(total > 0)
        return links, np.asarray(total[links], np.float64)

    def spread_shares(self, src: Ints, dst: Ints, share: Floats) -> tuple[Ints, Floats]:
        """Return the links of pairs whose bytes are spread on all paths by weight; else as :meth:`link_shares`."""
        table = self._paths[0]
        pair = src * self.servers + dst
        total = np.zeros(len(self.capacities_bps))
        for one, part in zip(pair.tolist(), share.tolist(), strict=True):
            paths = range(int(table.pair_first[one]), int(table.pair_first[one + 1]))
            for path in paths:
                links = table.link[table.path_first[path] : table.path_first[path + 1]]
                total[links] += part * table.weight[path]
        crossed = np.flatnonzero(total > 0)
        return crossed, total[crossed]

    @cached_property
    def _paths(self) -> tuple[PathTable, Floats]:
        """Return the paths of all ordered pairs, and their running weights."""
        every = np.arange(self.servers, dtype=np.int64)
        src, dst = np.repeat(every, self.servers), np.tile(every, self.servers)
        table = path_table(self.fabric, src, dst)
        return table, cumulative_weights(table.pair_first, table.weight)


def _numbered(of_server: list[int]) -> tuple[int, ...]:
    """Return the same classes, numbered in order of their first server."""
    numbers = {switch: number for number, switch in enumerate(dict.fromkeys(of_server))}
    return tuple(numbers[switch] for switch in of_server)


NAME = "cassini-24"
SERVERS, LINK_BPS, LATENCY_S = 24, 50e9, 1e-6
RACKS, PODS, AGGREGATION_OF_A_POD, CORES = 6, 2, 2, 3


def cassini_24(seed: int = 0) -> WorkerNetwork:
    """Return the network of the preset.

    Examples
    --------
    >>> network = cassini_24()
    >>> topology = network.fabric.topology
    >>> topology.servers, topology.nodes - topology.servers, len(topology) // 2
    (24, 13, 48)
    """
    first_rack, first_aggregation = SERVERS, SERVERS + RACKS
    first_core = first_aggregation + PODS * AGGREGATION_OF_A_POD
    cables = [(server, first_rack + server * RACKS // SERVERS) for server in range(SERVERS)]
    for rack in range(RACKS):
        pod = rack * PODS // RACKS
        above = first_aggregation + pod * AGGREGATION_OF_A_POD
        cables += [(first_rack + rack, above + number) for number in range(AGGREGATION_OF_A_POD)]
    for aggregation in range(first_aggregation, first_core):
        cables += [(aggregation, first_core + core) for core in range(CORES)]
    links = [Link(*ends, LINK_BPS, LATENCY_S) for a, b in cables for ends in ((a, b), (b, a))]
    topology = topology_from_links(NAME, SERVERS, links, first_core + CORES)
    fabric = Fabric(NAME, topology, EcmpRoutes(topology), {})
    described = "13 switches, 48 links of 50 Gb/s, 2:1 at the racks (a stand-in; the wiring is not published)"
    return WorkerNetwork(fabric, described, seed)
