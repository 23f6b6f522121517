"""Several independent chains, in one process or many, with the same answer either way."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from topoopt.finder import FinderRules
from topoopt.job import Job
from topoopt.search.alternating import alternate
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.options import SearchOptions
from topoopt.search.released import search_released
from topoopt.search.start import starting_strategy
from topoopt.strategy import ParallelStrategy
from topoopt.workers import end_with_parent

METHODS = {"alternating": alternate, "released": search_released}


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a chain begins: a strategy, and the rules by which its rounds wire by turns; none: the options' rules."""

    strategy: ParallelStrategy
    wirings: tuple[FinderRules, ...] = ()


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
    beginnings: Sequence[Beginning] = (),
) -> ChainsResult:
    """Run the chains, one from each beginning by turns; from data parallelism where there is none.

    Chain i draws from the i-th child of the seed and gets an equal share of the budget, so the result
    depends on neither the number of processes nor on which finishes first.
    """
    begin = beginnings or (Beginning(starting_strategy(job)),)
    seeds = np.random.SeedSequence(options.seed).spawn(options.chains)
    shares = [
        options.budget * (i + 1) // options.chains - options.budget * i // options.chains
        for i in range(options.chains)
    ]
    begun = [begin[chain % len(begin)] for chain in range(options.chains)]
    chains, rows = list(zip(begun, shares, seeds, strict=True)), []
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
    begin: Beginning,
    budget: int,
    seed: np.random.SeedSequence,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> tuple[ChainAnswer, float]:
    began = time.process_time()
    method = METHODS[options.mode]
    rng = np.random.default_rng(seed)
    answer = method(job, options, begin.strategy, budget, rng, on_progress, begin.wirings)
    return answer, time.process_time() - began
