"""The strategy search on the authors' two DLRM jobs: proposals a second, spread over seeds, compilation."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.program import plan
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import load_model

SOURCE = "FlexNet on one core of a current server, measured with the authors' program"
SEEDS = range(5)
COMPILE = """
from time import process_time
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.search.proposals.mcmc import search_strategy
from topoopt.search.proposals.mcmc import make_problem
from topoopt.search import SearchOptions
from topoopt.search.candidates.candidate import fabric_for
from topoopt.workloads import data_parallel
from topoopt.workloads import load_model
import numpy as np
graph = load_model("vgg16", servers=16)
job = make_job(graph, ClusterSpec(16, 4, 100e9), JobSettings())
start = data_parallel(graph, 16)
problem = make_problem(job, fabric_for(job, start))
began = process_time()
search_strategy(problem, start, 1, np.random.default_rng(0))
print(process_time() - began)
"""


def figures() -> Iterator[Figure]:
    for servers, limit, original in ((128, 1_000, 0.11), (16, 10_000, 310)):
        job = ("dlrm", "--servers", str(servers), "--degree", "4", "--bandwidth", "100Gbps")
        plan(*job, "--budget", "100", "--fabrics", "torus")  # compile the kernels
        speed = plan(*job, "--fabrics", "torus")["proposals_per_s"]
        yield Figure(f"search, DLRM-{servers}", speed, "proposals/CPU s", limit, True, original, SOURCE)
        yield from spread_over_seeds(servers)
    yield Figure("compiling the search, empty cache", compile_seconds(), "CPU s", limit=12)


def spread_over_seeds(servers: int) -> Iterator[Figure]:
    """Iteration time of the best of several seeds, and of the worst over the best, in units of data parallelism."""
    graph = load_model("dlrm", servers=servers)
    job = make_job(graph, ClusterSpec(servers, 4, 100e9), JobSettings())
    plans = [make_plan(job, SearchOptions(seed=seed), fabrics=()) for seed in SEEDS]
    times_s = sorted(row.outcome.iteration_time_s for row in plans)
    unsearched_s = plans[0].data_parallel.iteration_time_s
    yield Figure(
        f"search, DLRM-{servers}, best of {len(SEEDS)} seeds", times_s[0] * 1e3, "ms", unsearched_s * 1e3
    )
    yield Figure(f"search, DLRM-{servers}, worst of them over best", times_s[-1] / times_s[0], "×", 1.05)


def compile_seconds() -> float:
    """CPU seconds of the first evaluation and chain of a process that finds no compiled kernels."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", COMPILE]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(answer.stdout)
