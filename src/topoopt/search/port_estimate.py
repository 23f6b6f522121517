"""The search's estimate before wiring: times of strategies on networks given by their ports only.

The kernel's view of routes and rings is the links that bytes load. For a network that treats all servers alike, it
is enough to load each server's ends and the shared links: a few arrays of n entries instead of links of n² pairs,
laid out in milliseconds. Sizes, buckets, order and overlap are those of the search; ``timeline_kernel.py`` states
the accuracy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.collectives import PACKET_BYTES, path_overhead, ring_overhead
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, operators_of
from topoopt.search.proposals import problem_tables as tables
from topoopt.search.proposals.arrays import Problem
from topoopt.search.proposals.mcmc import SearchProblem, config_of, divisors_of, evaluated_s, problem_of
from topoopt.simulation import FIRST_BUCKET_BYTES
from topoopt.workloads import ParallelStrategy


@dataclass(frozen=True, slots=True)
class PortNetwork:
    """Ports of a server on a network, and the load of its bytes beyond the ports where they leave and arrive.

    Attributes
    ----------
    ports : int
        Ports per server, without ``near_ports``.
    rings : int
        Ports that carry a ring of every AllReduce each.
    bandwidth_bps : float
        Bandwidth per port.
    latency_s : float
        Latency per link.
    links : int
        Links between two servers that are adjacent on a ring.
    pool_hops : float
        Shared links used per byte: relaying, or a thin layer of switches.
    ring_hops, group_hops : float
        Hops of a byte between neighbors on a ring of all servers, and on one of a part of them.
    near : int
        Adjacent servers that reach one another by separate links; 1 if there are none.
    near_ports : int
        Ports that are kept for that; 0 where these bytes take the ports of all others.
    near_hops : float
        Links of the shared ones, or of those of these ports, that such a byte takes.
    """

    ports: int
    rings: int
    bandwidth_bps: float
    latency_s: float
    links: int
    pool_hops: float = 0.0
    ring_hops: float = 0.0
    group_hops: float = 0.0
    near: int = 1
    near_ports: int = 0
    near_hops: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.rings <= self.ports:
            raise InvalidInput(f"rings: expected 1 to {self.ports}, one for each port, got {self.rings}")


FINE = 32
"""Steps of a hop in which rings load the shared link: they cross it a whole number of times."""
OUT, IN, SHARED, NEAR_OUT, NEAR_IN, NEAR_SHARED = range(6)
"""Columns of the table of links."""
_Row = list[tuple[int, float]]
"""Load of a byte between two servers: columns with factors."""


@dataclass(frozen=True, eq=False, slots=True)
class PortEstimate:
    """A job and some strategies, ready to be estimated on any network; made by :func:`port_estimate`.

    Attributes
    ----------
    divisors : int64 array
        Degrees that the strategies have.
    configs : tuple of int64 arrays, shape (operators, 4)
        The strategies as the kernel reads them.
    arrays : dict
        Arrays that depend on the job alone.
    """

    job: Job
    divisors: Ints
    configs: tuple[Ints, ...]
    arrays: dict[str, Any]

    def iteration_time_s(self, strategy: int, network: PortNetwork) -> float:
        """Return the time of a strategy on a network, in seconds."""
        return self._estimated_s(strategy, network, 1.0)

    def free_time_s(self, strategy: int) -> float:
        """Return the time of a strategy with free communication, in seconds."""
        cluster = self.job.cluster
        return self._estimated_s(strategy, PortNetwork(1, 1, cluster.link_bandwidth_bps, 0.0, 1), 0.0)

    def _estimated_s(self, strategy: int, network: PortNetwork, slowness: float) -> float:
        servers, settings = self.job.cluster.servers, self.job.settings
        arrays = Problem(
            servers=servers,
            global_batch=self.job.global_batch,
            memory_limit_bytes=float("inf"),
            bucket_bytes=float(settings.as_run.bucket_bytes),
            first_bucket_bytes=float(FIRST_BUCKET_BYTES),
            divisors=self.divisors,
            **self.arrays,
            **layout_of(servers, self.divisors, network, slowness),
        )
        return evaluated_s(arrays, self.configs[strategy], self.job.cluster.accelerators_per_server)


def port_estimate(job: Job, strategies: Sequence[ParallelStrategy]) -> PortEstimate:
    """Return the inputs of an estimate for these strategies, independent of the network's ports.

    Networks may have as many ports as the job's cluster.
    """
    splits = [split for strategy in strategies for split in strategy.splits]
    degrees = {1, *(one.batch_degree for one in splits), *(one.channel_degree for one in splits)}
    divisors = np.array(sorted(degrees), np.int64)
    configs = tuple(config_of(divisors, strategy) for strategy in strategies)
    choices = [
        sorted({(int(config[index, 0]), int(config[index, 1]), int(config[index, 2])) for config in configs})
        for index in range(len(operators_of(job).graph.operators))
    ]
    arrays = {
        "operator": tables.operator_table(job, choices),
        **tables.cost_tables(job, divisors, choices, job.cluster.degree),
        "candidate": tables.candidate_table(choices),
        **tables.edge_tables(job),
    }
    return PortEstimate(job, divisors, configs, arrays)


def port_problem(job: Job, network: PortNetwork) -> SearchProblem:
    """Return the search on a network that is given by its ports; answers name a switch with as much bandwidth."""
    servers, server_bps = job.cluster.servers, network.ports * network.bandwidth_bps
    request = FabricRequest(servers, network.ports, network.bandwidth_bps, server_bandwidth_bps=server_bps)
    switch = build_fabric("ideal-switch", request)
    return problem_of(job, switch, False, **layout_of(servers, divisors_of(servers), network))


def layout_of(servers: int, divisors: Ints, network: PortNetwork, slowness: float = 1.0) -> dict[str, Any]:
    """Return routes, rings and links of the network; with a slowness of 0 nothing on it takes time.

    A link out represents every port of its server, and is loaded with the bytes of all of them over their number;
    the shared link likewise represents one port of each server.
    """
    byte_s, count = slowness * 8.0 / network.bandwidth_bps, 2 * (2 if network.near_ports else 1)
    seconds, every = np.full(count * servers + count // 2, byte_s), np.arange(servers)
    shared = 2 * servers, len(seconds) - 1
    seconds[list(shared)] = byte_s / FINE
    link_of = np.full((servers, 6), shared[0], np.int32)
    link_of[:, OUT], link_of[:, IN] = every, servers + every
    if network.near_ports:
        link_of[:, NEAR_OUT], link_of[:, NEAR_IN] = 2 * servers + 1 + every, 3 * servers + 1 + every
        link_of[:, NEAR_SHARED] = shared[1]
    return {
        "hop_overhead_s": slowness * (2 * network.latency_s + PACKET_BYTES * 8.0 / network.bandwidth_bps),
        "link_of": link_of,
        "next_link": np.zeros((1, 1), np.int32),
        "link_dst": np.zeros(len(seconds), np.int32),
        "seconds_per_byte": seconds,
        "fan_out": np.zeros((1, 1, 1)),
        "fan_hops": np.zeros(servers),
        **_routes(servers, network, slowness),
        **_rings(servers, divisors, network, slowness),
    }


def _routes(servers: int, network: PortNetwork, slowness: float) -> dict[str, Any]:
    """Return the load of a byte at each distance: both ends, and the links that all servers share."""
    share = 1 / network.ports
    ends = [(OUT, share), (IN, share)]
    near: _Row = [*ends, (SHARED, FINE * network.near_hops * share / servers)]
    far: _Row = [*ends, (SHARED, FINE * network.pool_hops * share / servers)]
    if network.near_ports:
        share = network.near_hops / network.near_ports
        near = [(NEAR_OUT, share), (NEAR_IN, share), (NEAR_SHARED, 0.0)]
        far.append((NEAR_SHARED, FINE * share * (1 - 1 / network.near) / servers))
    distance = np.arange(servers)
    if slowness == 0:
        near, far = near[:0], far[:0]
    is_near = np.minimum(distance, servers - distance) < network.near
    sizes = np.where(is_near, len(near), len(far))
    sizes[0] = 0
    entries = np.repeat(distance, sizes)
    place = np.arange(len(entries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = np.array([[column for column, _ in row] + [0] * (len(far) - len(row)) for row in (far, near)])
    shares = np.array([[share for _, share in row] + [0.0] * (len(far) - len(row)) for row in (far, near)])
    column = columns[is_near[entries].astype(int), place]
    source = np.where((column == IN) | (column == NEAR_IN), entries, 0)
    return {
        "row_first": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "entry": np.stack([source, column], axis=1).astype(np.int32),
        "entry_share": shares[is_near[entries].astype(int), place],
        "row_hops": np.full(servers, network.links + max(network.pool_hops - 1.0, 0.0)),
    }


def _rings(servers: int, divisors: Ints, network: PortNetwork, slowness: float) -> dict[str, Any]:
    """Return the rings of each regular group: the ends of all members, and the shared link once for all its groups."""
    edge = path_overhead([network.bandwidth_bps] * network.links, network.latency_s)
    counts: list[Ints] = []
    overheads: list[Floats] = []
    sizes: list[Ints] = []
    crossings: list[Ints] = []
    for members in (int(k) for k in divisors):
        step = servers // members
        if members == 1:
            rounds_s, ends, shared = 0.0, np.zeros((step, 0), np.int64), 0
        else:
            hops = network.ring_hops if step == 1 else network.group_hops
            rounds_s = slowness * ring_overhead("allreduce", members, edge, "stepped").total_s
            groups = np.arange(servers).reshape(members, step).T
            ends, shared = np.concatenate([groups, servers + groups], axis=1), round(FINE * hops)
        crossings += [np.full(shared, 2 * servers), ends.ravel()]
        sizes.append(np.full(step, ends.shape[1]))
        sizes[-1][0] += shared
        counts.append(np.full(step, network.rings if members > 1 else 0))
        overheads.append(np.full(step, rounds_s))
    return {
        "group_first": np.cumsum([0, *map(len, counts[:-1])]).astype(np.int64),
        "group_rings": np.concatenate(counts).astype(np.int64),
        "group_overhead_s": np.concatenate(overheads),
        "crossing_first": np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64),
        "crossing_link": np.concatenate(crossings).astype(np.int32),
    }
