"""Compile, in a second process, what a plan needs after its search, while the first process searches.

Kernels are compiled at their first use and kept on disk. A first plan spends most of its time on that, one kernel
after the other, on one core. So where the disk holds none yet, a second process simulates a job of nine servers
on the fabrics of the comparison. What it has compiled the first one loads; what it has not yet, the first one
compiles itself, so nothing waits and nothing but time is at stake.
"""

import os
import subprocess
import sys
from functools import cache

import numpy as np

from topoopt.cost import find_prices
from topoopt.hardware import ClusterSpec
from topoopt.job import JobSettings, job_traffic, make_job, operators_of
from topoopt.routing import KShortestRoutes, all_pair_links
from topoopt.search.baselines import BASELINES, baseline_fabric
from topoopt.search.worth import routing_gap, simulated, with_rings
from topoopt.simulate import is_compiled
from topoopt.strategy import data_parallel
from topoopt.workload import Operator, OperatorGraph, Weight


def start_compiling_ahead() -> None:
    """Start the second process, if nothing is compiled yet and there is a second core; do not wait for it."""
    if not is_compiled() and (os.cpu_count() or 1) > 1:
        _second_process()


@cache
def _second_process() -> subprocess.Popen[bytes]:
    """Start it once; the handle is kept, for a handle that is dropped early is taken for a mistake."""
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import compile_ahead; compile_ahead()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the first process; this one ends by itself
    )


def compile_ahead() -> None:
    """Simulate a small job on a torus and an expander, and ask for its best routing."""
    table = Operator("table", "embedding", (), (Weight("rows", 4096),), 64)
    dense = Operator("dense", "dense", (0,), (Weight("kernel", 4096),), 64)
    job = make_job(OperatorGraph("nine servers", (table, dense), 1), ClusterSpec(9, 4, 100e9), JobSettings())
    strategy = data_parallel(operators_of(job).graph, job.cluster.servers)
    traffic = job_traffic(job, strategy)
    prices = find_prices("2022")
    for name in ("torus", "expander"):
        fabric = with_rings(baseline_fabric(job, BASELINES[name][0], prices, 0), traffic, 4, 0)
        result = simulated(job, strategy, fabric)
        all_pair_links(fabric.topology, fabric.routes)
    routing_gap(fabric, traffic, result)
    KShortestRoutes(fabric.topology).pair_links(np.array([0]), np.array([1]))
