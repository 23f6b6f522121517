"""Several independent chains, in one process or many, with the same answer either way."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from topoopt.base.workers import end_with_parent
from topoopt.finder import FinderRules
from topoopt.jobs import Job
from topoopt.search.alternating import next_round
from topoopt.search.chain import Chain, exchanged
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.options import SearchOptions
from topoopt.search.released import search_released
from topoopt.search.start import starting_strategy
from topoopt.workloads.strategy import ParallelStrategy

INTERRUPTED = "interrupted"


def _all_rounds(job: Job, options: SearchOptions, chain: Chain, on_progress: Callable[[int], None]) -> Chain:
    answer = search_released(job, options, chain.strategy, chain.budget, chain.rng, on_progress)
    return replace(chain, rounds=(answer,), over=answer.stopped_because)


ROUNDS = {"alternating": next_round, "released": _all_rounds}
"""By mode: what takes a chain from one round to the next; the authors' search knows no rounds."""


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

    After each round those that are well behind go on where the best is. Chain i draws from the i-th child of the seed
    and gets an equal share of the budget, so the result depends on neither the number of processes nor on which
    finishes first.
    """
    chains = _begun(options, beginnings or (Beginning(starting_strategy(job)),))
    processes = min(options.processes or 1, options.chains)
    pool = _pool(processes) if processes > 1 else None
    try:
        while any(not chain.over for chain in chains):
            chains = _after_a_round(job, options, chains, on_progress, pool)
            if any(chain.over == INTERRUPTED for chain in chains):
                chains = [replace(chain, over=INTERRUPTED) for chain in chains if chain.rounds]
                break
            chains = exchanged(chains)
    finally:
        if pool is not None:
            pool.shutdown()
    return ChainsResult(tuple(chain.answer for chain in chains), sum(chain.cpu_s for chain in chains))


def _begun(options: SearchOptions, beginnings: Sequence[Beginning]) -> list[Chain]:
    seeds = np.random.SeedSequence(options.seed).spawn(options.chains)
    begin = [beginnings[i % len(beginnings)] for i in range(options.chains)]
    ends = [options.budget * i // options.chains for i in range(options.chains + 1)]
    return [
        Chain(begin[i].strategy, ends[i + 1] - ends[i], np.random.default_rng(seeds[i]), begin[i].wirings)
        for i in range(options.chains)
    ]


def _after_a_round(
    job: Job,
    options: SearchOptions,
    chains: Sequence[Chain],
    on_progress: Callable[[int], None],
    pool: ProcessPoolExecutor | None,
) -> list[Chain]:
    """Return the chains after one more round of each that is not over; after Ctrl-C the others stay as they were."""
    rows, going_on = list(chains), [i for i, chain in enumerate(chains) if not chain.over]
    pending = {i: pool.submit(_round, job, options, rows[i]) for i in going_on} if pool else {}
    for i in going_on:
        if pool:
            rows[i] = pending[i].result()
            on_progress(rows[i].made - chains[i].made)
            continue
        rows[i] = _round(job, options, rows[i], on_progress)
        if rows[i].over == INTERRUPTED:
            break
    return rows


def _round(
    job: Job,
    options: SearchOptions,
    chain: Chain,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> Chain:
    began = time.process_time()
    chain = ROUNDS[options.mode](job, options, chain, on_progress)
    return replace(chain, cpu_s=chain.cpu_s + time.process_time() - began)


def _pool(processes: int) -> ProcessPoolExecutor:
    context = get_context("spawn")  # forking a process that runs compiled kernels is not safe
    return ProcessPoolExecutor(processes, mp_context=context, initializer=end_with_parent)
