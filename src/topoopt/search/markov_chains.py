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
from topoopt.routing import Fabric
from topoopt.search.alternating import next_round
from topoopt.search.candidate import fabric_for
from topoopt.search.chain import Chain, exchanged
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.markov_chain_kernel import run_chain
from topoopt.search.options import SearchOptions
from topoopt.search.problem import SearchProblem, make_problem
from topoopt.search.same_links import same_links
from topoopt.search.start import starting_strategy
from topoopt.workloads.strategy import ParallelStrategy

FORCED_AFTER = 50
"""Proposals without an accepted one after which the topology is rebuilt all the same."""
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


def search_released(
    job: Job,
    options: SearchOptions,
    start: ParallelStrategy,
    budget: int,
    rng: np.random.Generator,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> ChainAnswer:
    """Search as the authors' code does: measured degrees only, re-draws and propagation only.

    Starts from data parallelism; accepts what is faster, else with exp(-alpha·Δms); returns to the best
    strategy every hundredth part of the budget. All servers are always wired by the options' rules.
    """
    problem = _problem(job, fabric_for(job, start, options.rules, options.seed), options)
    state = problem.state(start)
    time_s = float(state.times_s[0])
    best = ChainAnswer(start, problem.fabric, time_s, 0, "budget", ((0, time_s),))
    random = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    made, because, last_reset = 0, "budget", 0
    while made < budget:
        try:
            step = min(FORCED_AFTER, budget - made)
            drawn = state._replace(random=random)
            done = run_chain(problem.arrays, drawn, 0, step, options.alpha_per_ms, False, step + 1, True)
            made += done
            on_progress(done)
            strategy = problem.strategy(state.config)
            rebuilt = fabric_for(job, strategy, options.rules, options.seed)
            if not same_links(rebuilt, problem.fabric):
                problem = _problem(job, rebuilt, options)
                state = problem.state(strategy)
            time_s = float(state.times_s[0])
            if time_s < best.time_s:
                point = (*best.convergence, (made, time_s))
                best = ChainAnswer(strategy, problem.fabric, time_s, made, "budget", point)
            if made - last_reset >= max(budget // 100, 1):
                last_reset = made
                if not same_links(best.fabric, problem.fabric):
                    problem = _problem(job, best.fabric, options)
                state = problem.state(best.strategy)
        except KeyboardInterrupt:
            because = "interrupted"
            break
    return replace(best, proposals=made, stopped_because=because)


def _problem(job: Job, fabric: Fabric, options: SearchOptions) -> SearchProblem:
    return make_problem(job, fabric, measured_only=True, seed=options.seed)
