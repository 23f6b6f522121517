"""A job on a fixed fabric as the plain arrays of the search kernel, and back."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from topoopt.base.ahead import wait_for
from topoopt.base.arrays import Ints
from topoopt.catalog import find_accelerator
from topoopt.jobs import Job
from topoopt.routing import Fabric
from topoopt.search import route_tables, tables
from topoopt.search.arrays import Problem, State, new_state
from topoopt.search.markov_chain_kernel import run_chain
from topoopt.simulation import FIRST_BUCKET_BYTES
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy


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
    routes = route_tables.route_tables(fabric)
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
        fan_out=route_tables.fan_out_table(job, fabric, routes),
        fan_hops=route_tables.fan_hops(fabric, routes),
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
