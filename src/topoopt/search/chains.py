"""Several independent chains, in one process or many, with the same answer either way."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from topoopt.job import Job
from topoopt.search.alternating import Found, alternate, fabric_for
from topoopt.search.options import SearchOptions
from topoopt.search.problem import make_problem
from topoopt.search.released import search_released
from topoopt.search.start import fits, starting_strategy, tensor_parallel_starts
from topoopt.strategy import ParallelStrategy

METHODS = {"alternating": alternate, "released": search_released}

LARGEST_FOR_STARTS = 256
"""Servers above which trying several topologies before the search takes longer than it is worth."""


@dataclass(frozen=True, eq=False)
class ChainsResult:
    """The best chain's answer, and every chain's time for the spread over seeds."""

    best: Found
    chain_times_s: tuple[float, ...]
    proposals: int
    cpu_s: float


def run_chains(
    job: Job, options: SearchOptions, on_progress: Callable[[int], None] = lambda proposals: None
) -> ChainsResult:
    """Run the chains and return the best; ties go to the earlier chain.

    Chain i draws from the i-th child of the seed and gets an equal share of the budget, so the result
    depends on neither the number of processes nor on which finishes first.
    """
    starts = _starts(job, options)
    seeds = np.random.SeedSequence(options.seed).spawn(options.chains)
    shares = [
        options.budget * (i + 1) // options.chains - options.budget * i // options.chains
        for i in range(options.chains)
    ]
    began = time.process_time()
    processes = min(options.processes or 1, options.chains)
    if processes > 1:
        context = get_context("spawn")  # forking a process that runs compiled kernels is not safe
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            pending = [
                pool.submit(_run_chain, job, options, *row) for row in zip(starts, shares, seeds, strict=True)
            ]
            rows = []
            for future, share in zip(pending, shares, strict=True):
                rows.append(future.result())
                on_progress(share)
        found, cpu_s = [row[0] for row in rows], sum(row[1] for row in rows)
    else:
        method = METHODS[options.mode]
        found = []
        for start, share, seed in zip(starts, shares, seeds, strict=True):
            found.append(method(job, options, start, share, np.random.default_rng(seed), on_progress))
            if found[-1].stopped_because == "interrupted":
                break
        cpu_s = time.process_time() - began
    best = min(found, key=lambda row: row.time_s)
    return ChainsResult(best, tuple(row.time_s for row in found), sum(row.proposals for row in found), cpu_s)


def _run_chain(
    job: Job,
    options: SearchOptions,
    start: ParallelStrategy,
    budget: int,
    seed: np.random.SeedSequence,
) -> tuple[Found, float]:
    began = time.process_time()
    found = METHODS[options.mode](job, options, start, budget, np.random.default_rng(seed))
    return found, time.process_time() - began


def _starts(job: Job, options: SearchOptions) -> list[ParallelStrategy]:
    """Return each chain's start: data parallelism for odd chains, the best of the uniform starts for even ones.

    The authors' mode, a search without budget and clusters of more than :data:`LARGEST_FOR_STARTS` servers
    start from data parallelism alone.
    """
    plain = starting_strategy(job)
    eligible = options.mode == "alternating" and options.budget > 0
    if not eligible or job.cluster.servers > LARGEST_FOR_STARTS:
        return [plain] * options.chains
    uniform = [plain, *(s for s in tensor_parallel_starts(job) if fits(job, s))]
    best = min(uniform, key=lambda s: make_problem(job, fabric_for(job, s, options)).iteration_time_s(s))
    return [plain if chain % 2 else best for chain in range(options.chains)]
