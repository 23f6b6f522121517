"""The search's estimate where nothing is wired: what strategies take on networks of which only ports are known.

What the kernel knows of routes and rings are links that bytes load. Of a network that treats all servers alike it is
enough to load each server's ends, and what all share: a few arrays of n entries instead of links of n² pairs, laid out
in milliseconds. Sizes, buckets, order and overlap are those of the search; ``timeline_kernel.py`` says how near it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.jobs import Job, operators_of
from topoopt.search import tables
from topoopt.search.arrays import Problem
from topoopt.search.port_layout import layout_of
from topoopt.search.port_network import PortNetwork
from topoopt.search.problem import config_of, evaluated_s
from topoopt.simulation import FIRST_BUCKET_BYTES
from topoopt.workloads.strategy import ParallelStrategy


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
        What it knows of the job alone.
    """

    job: Job
    divisors: Ints
    configs: tuple[Ints, ...]
    arrays: dict[str, Any]

    def iteration_time_s(self, strategy: int, network: PortNetwork) -> float:
        """Return what the strategy of that number takes on a network, in seconds."""
        return self._estimated_s(strategy, network, 1.0)

    def free_time_s(self, strategy: int) -> float:
        """Return what it takes where servers reach each other in no time, in seconds."""
        cluster = self.job.cluster
        return self._estimated_s(strategy, PortNetwork(1, 1, cluster.link_bandwidth_bps, 0.0, 1), 0.0)

    def _estimated_s(self, strategy: int, network: PortNetwork, slowness: float) -> float:
        servers, settings = self.job.cluster.servers, self.job.settings
        arrays = Problem(
            servers=servers,
            global_batch=self.job.global_batch,
            memory_limit_bytes=float("inf"),
            bucket_bytes=float(settings.usual_bucket_bytes),
            first_bucket_bytes=float(FIRST_BUCKET_BYTES),
            divisors=self.divisors,
            **self.arrays,
            **layout_of(servers, self.divisors, network, slowness),
        )
        return evaluated_s(arrays, self.configs[strategy], self.job.cluster.accelerators_per_server)


def port_estimate(job: Job, strategies: Sequence[ParallelStrategy]) -> PortEstimate:
    """Return what an estimate of these strategies needs to know, whatever the network has of ports.

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
