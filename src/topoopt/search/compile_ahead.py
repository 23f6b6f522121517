"""Second process of a first plan: it warms up the kernels that a plan needs last on a job of nine servers.

See :mod:`topoopt.base.workers` for its start and purpose.
"""

import gc
import os
import sys
from collections.abc import Callable

import numpy as np

from topoopt.base.kernel import UNKEPT
from topoopt.base.workers import PARTS
from topoopt.catalog import NETWORKS, ClusterSpec
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of
from topoopt.pricing import pricing_of
from topoopt.routing import CoinChangeRoutes, circulant_max_load
from topoopt.search.baselines import baseline_fabric
from topoopt.search.candidates.candidate import with_rings
from topoopt.search.proposals.mcmc import make_problem
from topoopt.topologies import circulant
from topoopt.workloads import Operator, OperatorGraph, Weight, data_parallel


def compile_ahead() -> None:
    """Compile part after part, and print the name of each when it is on disk."""
    if os.environ.get(UNKEPT):
        return  # nobody could use what is compiled here
    gc.disable()  # looking for cycles among all that a compiler makes takes a tenth of its time
    table = Operator("table", "embedding", (), (Weight("rows", 4096),), 64)
    dense = Operator("dense", "dense", (0,), (Weight("kernel", 4096),), 64)
    job = make_job(OperatorGraph("nine servers", (table, dense), 1), ClusterSpec(9, 4, 100e9), JobSettings())
    parts: dict[str, Callable[[Job], None]] = {"chain": _use_chain, "rings": _use_rings}
    for part in PARTS:
        parts[part](job)
        sys.stdout.write(f"{part}\n")
        sys.stdout.flush()


def use_loads() -> None:
    """Load the links of a circulant, and bound that load; the first process compiles these kernels meanwhile."""
    topology = circulant(9, (1,), 100e9)
    CoinChangeRoutes(topology).link_bytes(np.ones((9, 9)))
    circulant_max_load(topology, np.ones(9))


def _use_chain(job: Job) -> None:
    fabric = baseline_fabric(job, NETWORKS["ideal-switch"].sizings[0], pricing_of(), 0)
    make_problem(job, fabric).state(data_parallel(operators_of(job).graph, job.cluster.servers))


def _use_rings(job: Job) -> None:
    traffic = job_traffic(job, data_parallel(operators_of(job).graph, job.cluster.servers))
    fabric = baseline_fabric(job, NETWORKS["torus"].sizings[0], pricing_of(), 0)
    with_rings(fabric, traffic, job.cluster.degree, 0)
