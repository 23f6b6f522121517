"""Alternating optimization: Comp × Comm with the topology fixed, Comm × Topo with the strategy fixed (section 3)."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing import get_context

import numpy as np

from topoopt.base.workers import end_with_parent
from topoopt.finder import FinderRules
from topoopt.jobs import Job
from topoopt.routing import Fabric
from topoopt.search.candidates.candidate import fabric_for, same_links
from topoopt.search.options import SearchOptions
from topoopt.search.proposals.mcmc import (
    Chain,
    ChainAnswer,
    SearchProblem,
    exchanged,
    make_problem,
    search_strategy,
)
from topoopt.search.proposals.mcmc_kernel import run_chain
from topoopt.search.starting_strategies import starting_strategy
from topoopt.workloads import ParallelStrategy

ROUNDS_IN = 4000
"""Proposals of all chains that are divided into the rounds of the options; more of them are more rounds."""
CONVERGED = 1e-4
"""Relative improvement of the iteration time below which, in two rounds, a chain stops."""


def next_round(
    job: Job,
    options: SearchOptions,
    chain: Chain,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> Chain:
    """Return the chain after a round: the strategy is searched on a network that is wired for where the chain stood.

    It is over when its budget ends, or when two rounds have gained nothing. The rounds take the wirings
    by turns, so that no strategy is bound to the one that was good for the first.
    """
    by_turns, step = chain.wirings or (options.rules,), len(chain.rounds)
    rules = by_turns[step % len(by_turns)]
    fabric = fabric_for(job, chain.strategy, rules, options.seed)
    answer = search_strategy(
        kept_problem(job, fabric, options.seed),
        chain.strategy,
        min(chain.budget - chain.made, max(ROUNDS_IN // (options.chains * options.rounds), 1)),
        chain.rng,
        alpha_per_ms=options.alpha_per_ms,
        on_progress=on_progress,
    )
    so_far_s = chain.best.time_s if chain.rounds else float("inf")
    idle = chain.idle + 1 if answer.time_s >= so_far_s * (1 - CONVERGED) else 0
    over = "converged" if idle == 2 else ""
    if answer.stopped_because == "interrupted" or chain.made + answer.proposals >= chain.budget:
        over = answer.stopped_because if answer.stopped_because == "interrupted" else "budget"
    rounds = (*chain.rounds, replace(answer, rules=rules))
    return replace(chain, strategy=answer.strategy, rounds=rounds, idle=idle, over=over)


class _Links:
    """A fabric that is the same as another one with equal links and routes; its rings are laid as they are needed."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def __hash__(self) -> int:
        return hash((self.fabric.topology.src.tobytes(), self.fabric.topology.dst.tobytes()))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Links)
            and same_links(self.fabric, other.fabric)
            and self.fabric.routes.method == other.fabric.routes.method
        )


def kept_problem(job: Job, fabric: Fabric, seed: int) -> SearchProblem:
    """Return the search problem of a fabric, cached: starts, chains and rounds return to the same links."""
    return _problem(job, _Links(fabric), seed)


@lru_cache(maxsize=6)
def _problem(job: Job, links: _Links, seed: int) -> SearchProblem:
    return make_problem(job, links.fabric, seed=seed)


def forget_problems() -> None:
    """Clear the cached problems; with many servers they take hundreds of megabytes."""
    _problem.cache_clear()


def fixed_fabric(
    job: Job,
    fabric: Fabric,
    options: SearchOptions,
    budget: int,
    rng: np.random.Generator,
    starts: tuple[ParallelStrategy, ...],
    problem: SearchProblem | None = None,
) -> ChainAnswer:
    """Search only the strategy, on a fabric that cannot be rewired; begin at the best of the given starts."""
    if not starts[0].splits:
        return ChainAnswer(starts[0], fabric, 0.0, 0, "no operators to split", ())
    released = options.mode == "released"
    if problem is None:
        problem = make_problem(job, fabric, measured_only=released, seed=options.seed)
    first = min(starts, key=problem.iteration_time_s)
    return search_strategy(
        problem, first, budget, rng, alpha_per_ms=options.alpha_per_ms, own_moves=not released
    )


FORCED_AFTER = 50
"""Proposals without an accepted one after which the topology is rebuilt all the same."""
INTERRUPTED = "interrupted"


def _all_rounds(job: Job, options: SearchOptions, chain: Chain, on_progress: Callable[[int], None]) -> Chain:
    answer = search_released(job, options, chain.strategy, chain.budget, chain.rng, on_progress)
    return replace(chain, rounds=(answer,), over=answer.stopped_because)


ROUNDS = {"alternating": next_round, "released": _all_rounds}
"""Step from one round to the next, by mode; the authors' search has no rounds."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Start of a chain: a strategy, and the rules by which its rounds wire in turn; none: the options' rules."""

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
        """Proposals of all chains."""
        return sum(row.proposals for row in self.answers)


def run_chains(
    job: Job,
    options: SearchOptions,
    on_progress: Callable[[int], None] = lambda proposals: None,
    beginnings: Sequence[Beginning] = (),
) -> ChainsResult:
    """Run the chains, alternating over the given starts; from data parallelism without any.

    After each round chains well behind continue from the best. Chain i draws from the i-th child of the seed
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

    Starts from data parallelism; accepts faster strategies, others with exp(-alpha·Δms); returns to the best
    strategy every hundredth part of the budget. All servers are always wired by the options' rules.
    """
    problem_on = partial(make_problem, job, measured_only=True, seed=options.seed)
    problem = problem_on(fabric_for(job, start, options.rules, options.seed))
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
                problem = problem_on(rebuilt)
                state = problem.state(strategy)
            time_s = float(state.times_s[0])
            if time_s < best.time_s:
                point = (*best.convergence, (made, time_s))
                best = ChainAnswer(strategy, problem.fabric, time_s, made, "budget", point)
            if made - last_reset >= max(budget // 100, 1):
                last_reset = made
                if not same_links(best.fabric, problem.fabric):
                    problem = problem_on(best.fabric)
                state = problem.state(best.strategy)
        except KeyboardInterrupt:
            because = "interrupted"
            break
    return replace(best, proposals=made, stopped_because=because)
