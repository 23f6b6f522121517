"""The authors' released search: the topology is rebuilt inside the Markov chain, after every accepted move."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from topoopt.jobs import Job
from topoopt.routing import Fabric
from topoopt.search.candidate import fabric_for
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.markov_chain_kernel import run_chain
from topoopt.search.options import SearchOptions
from topoopt.search.problem import SearchProblem, make_problem
from topoopt.search.same_links import same_links
from topoopt.workloads.strategy import ParallelStrategy

FORCED_AFTER = 50
"""Proposals without an accepted one after which the topology is rebuilt all the same."""


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
