"""Several independent chains, in one process or many, with the same answer either way."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from topoopt.job import Job
from topoopt.search.alternating import Found, alternate
from topoopt.search.options import SearchOptions
from topoopt.search.released import search_released

METHODS = {"alternating": alternate, "released": search_released}


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
                pool.submit(_run_chain, job, options, n, s) for n, s in zip(shares, seeds, strict=True)
            ]
            rows = []
            for future, share in zip(pending, shares, strict=True):
                rows.append(future.result())
                on_progress(share)
        found, cpu_s = [row[0] for row in rows], sum(row[1] for row in rows)
    else:
        method = METHODS[options.mode]
        found = []
        for share, seed in zip(shares, seeds, strict=True):
            found.append(method(job, options, share, np.random.default_rng(seed), on_progress))
            if found[-1].stopped_because == "interrupted":
                break
        cpu_s = time.process_time() - began
    best = min(found, key=lambda row: row.time_s)
    return ChainsResult(best, tuple(row.time_s for row in found), sum(row.proposals for row in found), cpu_s)


def _run_chain(
    job: Job, options: SearchOptions, budget: int, seed: np.random.SeedSequence
) -> tuple[Found, float]:
    began = time.process_time()
    found = METHODS[options.mode](job, options, budget, np.random.default_rng(seed))
    return found, time.process_time() - began
