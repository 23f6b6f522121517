"""Several independent chains, in one process or many, with the same answer either way."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from topoopt.finder import FinderRules
from topoopt.job import Job
from topoopt.search.alternating import alternate
from topoopt.search.candidate import Candidate, wired_candidate
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.options import SearchOptions
from topoopt.search.released import search_released
from topoopt.search.start import fits, starting_strategy, tensor_parallel_starts
from topoopt.strategy import ParallelStrategy
from topoopt.workers import end_with_parent

METHODS = {"alternating": alternate, "released": search_released}

LARGEST_FOR_STARTS = 256
"""Servers above which trying several topologies before the search takes longer than it is worth."""


@dataclass(frozen=True, eq=False)
class ChainsResult:
    """Every chain's answer, and the CPU time of all."""

    answers: tuple[ChainAnswer, ...]
    cpu_s: float

    @property
    def best(self) -> ChainAnswer:
        """The best by the estimate of the search's kernel; ties go to the earlier chain."""
        return min(self.answers, key=lambda row: row.time_s)

    @property
    def proposals(self) -> int:
        """Of all chains."""
        return sum(row.proposals for row in self.answers)


def run_chains(
    job: Job,
    options: SearchOptions,
    on_progress: Callable[[int], None] = lambda proposals: None,
    start: ParallelStrategy | None = None,
    wirings: tuple[FinderRules, ...] = (),
) -> ChainsResult:
    """Run the chains.

    Each begins at another one of the ``wirings``, and takes them by turns.
    Even chains begin at ``start``, odd ones at data parallelism; so do all where no start is given.

    Chain i draws from the i-th child of the seed and gets an equal share of the budget, so the result
    depends on neither the number of processes nor on which finishes first.
    """
    plain = starting_strategy(job)
    starts = [plain if chain % 2 else start or plain for chain in range(options.chains)]
    seeds = np.random.SeedSequence(options.seed).spawn(options.chains)
    shares = [
        options.budget * (i + 1) // options.chains - options.budget * i // options.chains
        for i in range(options.chains)
    ]
    turned = [
        wirings[chain % max(len(wirings), 1) :] + wirings[: chain % max(len(wirings), 1)]
        for chain in range(options.chains)
    ]
    chains, rows = list(zip(starts, shares, seeds, turned, strict=True)), []
    processes = min(options.processes or 1, options.chains)
    if processes > 1:
        context = get_context("spawn")  # forking a process that runs compiled kernels is not safe
        with ProcessPoolExecutor(processes, mp_context=context, initializer=end_with_parent) as pool:
            pending = [pool.submit(_run_chain, job, options, *chain) for chain in chains]
            for future, share in zip(pending, shares, strict=True):
                rows.append(future.result())
                on_progress(share)
    else:
        for chain in chains:
            rows.append(_run_chain(job, options, *chain, on_progress))
            if rows[-1][0].stopped_because == "interrupted":
                break
    return ChainsResult(tuple(answer for answer, _ in rows), sum(cpu_s for _, cpu_s in rows))


def _run_chain(
    job: Job,
    options: SearchOptions,
    start: ParallelStrategy,
    budget: int,
    seed: np.random.SeedSequence,
    wirings: tuple[FinderRules, ...],
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> tuple[ChainAnswer, float]:
    began = time.process_time()
    method = METHODS[options.mode]
    answer = method(job, options, start, budget, np.random.default_rng(seed), on_progress, wirings)
    return answer, time.process_time() - began


def uniform_starts(job: Job, options: SearchOptions) -> list[Candidate]:
    """Return data parallelism and the uniform tensor-parallel strategies, simulated on topologies of their own.

    They are what the search may begin at, and answers already: the search's kernel, which makes exchanges wait
    for each other, takes strategies that exchange a lot for slower than they are. The authors' mode, a search
    without budget and clusters of more than :data:`LARGEST_FOR_STARTS` servers have data parallelism only.
    """
    rows = [starting_strategy(job)]
    eligible = options.mode == "alternating" and options.budget > 0
    if eligible and job.cluster.servers <= LARGEST_FOR_STARTS:
        rows += [strategy for strategy in tensor_parallel_starts(job) if fits(job, strategy)]
    return [wired_candidate(job, row, options.rules, options.seed) for row in rows]
