"""A job on a fixed fabric as the plain arrays of the search kernel, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.workers import wait_for
from topoopt.catalog import find_accelerator
from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric, all_pair_links, next_links, pair_links
from topoopt.search.proposals import problem_tables as tables
from topoopt.search.proposals.arrays import Problem, State, new_state
from topoopt.search.proposals.mcmc_kernel import run_chain
from topoopt.search.proposals.problem_tables import coin_of_link, is_shiftable, link_of_coin
from topoopt.search.proposals.timeline_kernel import walk_fan_out
from topoopt.simulation import FIRST_BUCKET_BYTES
from topoopt.topologies import hops_from
from topoopt.workloads import OperatorSplit, ParallelStrategy

LARGEST_TO_LIST = 512
"""Servers up to which the search knows all links of every pair. Above, those of a torus of 1,024 servers alone take
2 GB and a minute of CPU time; there the search counts with one shortest way of each pair, drawn by a hash."""
MAX_FAN_OUT_BYTES = 256e6
"""Largest table of fan-out loads that is kept; 128 servers of degree 4 need 1 MB."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A job on a fabric, ready for the kernel."""

    job: Job
    fabric: Fabric
    arrays: Problem

    def config(self, strategy: ParallelStrategy) -> Ints:
        """Return the strategy as the kernel's configuration array, shape (operators, 4)."""
        return config_of(self.arrays.divisors, strategy)

    def strategy(self, config: Ints) -> ParallelStrategy:
        """Return the configuration array as a strategy."""
        divisors = self.arrays.divisors
        splits = [
            OperatorSplit(int(divisors[b]), int(start), int(divisors[c]), tables.CHANNEL_DIMS[dim])
            for b, c, dim, start in config
        ]
        return ParallelStrategy(self.job.cluster.servers, tuple(splits))

    def state(self, strategy: ParallelStrategy) -> State:
        """Return fresh kernel state for a strategy, evaluated."""
        accelerators = self.job.cluster.accelerators_per_server
        state = new_state(self.arrays, self.config(strategy), accelerators)
        self.evaluate(state)
        return state

    def evaluate(self, state: State) -> float:
        """Fill a state's caches from its configuration alone; return the kernel's estimate, in seconds."""
        return _filled_s(self.arrays, state)

    def iteration_time_s(self, strategy: ParallelStrategy) -> float:
        """Return the kernel's estimate for a strategy, in seconds."""
        return float(self.state(strategy).times_s[0])


def config_of(divisors: Ints, strategy: ParallelStrategy) -> Ints:
    """Return a strategy as the kernel's array, shape (operators, 4), its degrees as places in ``divisors``."""
    index = {int(degree): place for place, degree in enumerate(divisors)}
    rows = [
        (index[s.batch_degree], index[s.channel_degree], tables.CHANNEL_DIMS.index(s.channel_dim), s.start)
        for s in strategy.splits
    ]
    return np.array(rows, np.int64)


def evaluated_s(arrays: Problem, config: Ints, accelerators: int) -> float:
    """Return the kernel's estimate of a configuration, in seconds; ``accelerators`` is the number in a server."""
    return _filled_s(arrays, new_state(arrays, config, accelerators))


def _filled_s(arrays: Problem, state: State) -> float:
    wait_for("chain")
    state.times_s[:] = -1.0
    run_chain(arrays, state, 0, 0, 0.0, False, 1, False)
    return float(state.times_s[0])


def make_problem(job: Job, fabric: Fabric, *, measured_only: bool = False, seed: int = 0) -> SearchProblem:
    """Lay out a job and a fabric as arrays.

    ``measured_only`` restricts operators to the data-parallel degrees that were profiled and forbids channel
    splits: the search space of the authors' release.
    """
    cluster, topology = job.cluster, fabric.topology
    servers = cluster.servers
    divisors = _divisors(servers)
    routes = route_tables(fabric)
    most_rings = tables.most_rings_of(cluster, topology)
    groups = tables.group_tables(fabric, divisors, most_rings, seed, routes["next_link"])
    limit = np.inf
    if job.settings.memory_check == "enforce":
        limit = find_accelerator(cluster.accelerator).memory_bytes
    arrays = Problem(
        servers=servers,
        global_batch=job.global_batch,
        memory_limit_bytes=float(limit),
        hop_overhead_s=tables.hop_overhead_s(topology),
        bucket_bytes=float(job.settings.usual_bucket_bytes),
        first_bucket_bytes=float(FIRST_BUCKET_BYTES),
        divisors=divisors,
        **_job_tables(job, measured_only, int(groups["group_rings"].max())),
        **routes,
        seconds_per_byte=8.0 / topology.bandwidth_bps,
        fan_out=fan_out_table(job, fabric, routes),
        fan_hops=fan_hops(fabric, routes),
        **groups,
    )
    return SearchProblem(job, fabric, arrays)


@lru_cache(maxsize=4)
def _job_tables(job: Job, measured_only: bool, most_rings: int) -> dict[str, Any]:
    """Return the arrays that are a job's on every fabric; a plan puts one job on a dozen."""
    divisors = _divisors(job.cluster.servers)
    choices = tables.candidate_splits(job, divisors, measured_only)
    return {
        "operator": tables.operator_table(job, choices),
        **tables.cost_tables(job, divisors, choices, most_rings),
        "candidate": tables.candidate_table(choices),
        **tables.edge_tables(job),
    }


def _divisors(servers: int) -> Ints:
    return np.array([k for k in range(1, servers + 1) if servers % k == 0], np.int64)


def route_tables(fabric: Fabric) -> dict[str, Any]:
    """Return every pair's links; for a circulant only those of server 0, the others are shifts of them."""
    topology, servers = fabric.topology, fabric.topology.servers
    nothing = {
        "link_of": np.zeros((1, 1), np.int32),
        "next_link": np.zeros((1, 1), np.int32),
        "link_dst": topology.dst,
    }
    if is_shiftable(fabric):
        destinations = np.arange(1, servers, dtype=np.int64)
        links = pair_links(topology, fabric.routes, np.zeros_like(destinations), destinations)
        node = topology.src[links.link]
        return nothing | {
            "row_first": np.concatenate([[0], links.pair_first]).astype(np.int64),
            "entry": np.stack([node, coin_of_link(topology)[links.link]], axis=1).astype(np.int32),
            "entry_share": links.share,
            "row_hops": np.concatenate([[0.0], links.mean_hops()]),
            "link_of": link_of_coin(topology),
        }
    if servers > LARGEST_TO_LIST:
        return nothing | {
            "row_first": np.zeros(1, np.int64),
            "entry": np.zeros((0, 2), np.int32),
            "entry_share": np.zeros(0),
            "row_hops": np.zeros(0),
            "next_link": next_links(topology),
        }
    links = all_pair_links(topology, fabric.routes)
    return nothing | {
        "row_first": links.pair_first.astype(np.int64),
        "entry": np.stack([links.link, np.zeros_like(links.link)], axis=1).astype(np.int32),
        "entry_share": links.share,
        "row_hops": links.mean_hops(),
    }


def fan_out_table(job: Job, fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the seconds on each link when a server sends one byte to every other one, and the reverse.

    Shape (servers, 2, links); (1, 1, 1) for models without tables and where it would not fit
    :data:`MAX_FAN_OUT_BYTES`.
    """
    topology, servers = fabric.topology, fabric.topology.servers
    has_tables = any(op.is_embedding for op in operators_of(job).graph.operators)
    if not has_tables or servers * 2 * len(topology) * 8 > MAX_FAN_OUT_BYTES:
        return np.zeros((1, 1, 1))
    table = np.zeros((servers, 2, len(topology)))
    if is_shiftable(fabric):
        _shift_fan_out(routes, table)
    elif len(routes["next_link"]) > 1:
        walk_fan_out(routes["next_link"], topology.dst, table)
    else:
        rows = np.repeat(np.arange(len(routes["row_first"]) - 1), np.diff(routes["row_first"]))
        link, share = routes["entry"][:, 0], routes["entry_share"]
        for way, end in enumerate((rows // servers, rows % servers)):
            cells = np.bincount(end * len(topology) + link, share, minlength=servers * len(topology))
            table[:, way] = cells.reshape(servers, len(topology))
    return table * (8.0 / topology.bandwidth_bps)


def _shift_fan_out(routes: Mapping[str, Any], table: Floats) -> None:
    """Fill a circulant's table with what server 0 puts on the links, moved round."""
    (node, coin), link_of = routes["entry"].T.astype(np.int64), routes["link_of"]
    servers, coins = link_of.shape
    rows = np.repeat(np.arange(servers), np.diff(routes["row_first"]))
    sent, got = node * coins + coin, (node - rows) % servers * coins + coin
    of_first = [np.bincount(at, routes["entry_share"], servers * coins) for at in (sent, got)]
    for server in range(servers):
        links = np.roll(link_of, -server, axis=0).ravel()
        table[server, :, links] = np.array(of_first).T


def fan_hops(fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the mean hops of the farthest pair that each server is an end of, shape (servers,)."""
    servers = fabric.topology.servers
    if is_shiftable(fabric):
        return np.full(servers, routes["row_hops"].max())
    if len(routes["next_link"]) > 1:
        links = hops_from(fabric.topology, np.arange(servers))[:, :servers]
        return np.asarray(np.maximum(links.max(axis=0), links.max(axis=1)), np.float64)
    hops: Floats = routes["row_hops"].reshape(servers, servers)
    farthest: Floats = np.maximum(hops.max(axis=0), hops.max(axis=1))
    return farthest
