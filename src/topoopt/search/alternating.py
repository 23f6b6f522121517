"""Alternating optimization: Comp × Comm with the topology fixed, Comm × Topo with the strategy fixed (section 3)."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from topoopt.jobs import Job
from topoopt.routing import Fabric
from topoopt.search.candidate import fabric_for
from topoopt.search.chain import Chain
from topoopt.search.markov_chain import ChainAnswer, search_strategy
from topoopt.search.options import SearchOptions
from topoopt.search.problem import SearchProblem, make_problem
from topoopt.search.same_links import same_links
from topoopt.workloads.strategy import ParallelStrategy

CONVERGED = 1e-4
"""After two rounds that improve the iteration time by less than this fraction a chain stops."""


def next_round(
    job: Job,
    options: SearchOptions,
    chain: Chain,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> Chain:
    """Return the chain after a round: the strategy is searched on a network that is wired for where the chain stood.

    It is over when its rounds or its budget end, or when two rounds have gained nothing.
    The rounds take the wirings by turns, so that no strategy is bound to the one that was good for the first.
    """
    by_turns, step = chain.wirings or (options.rules,), len(chain.rounds)
    rules = by_turns[step % len(by_turns)]
    fabric = fabric_for(job, chain.strategy, rules, options.seed)
    answer = search_strategy(
        kept_problem(job, fabric, options.seed),
        chain.strategy,
        (chain.budget - chain.made) // (options.rounds - step),
        chain.rng,
        alpha_per_ms=options.alpha_per_ms,
        on_progress=on_progress,
    )
    so_far_s = chain.best.time_s if chain.rounds else float("inf")
    idle = chain.idle + 1 if answer.time_s >= so_far_s * (1 - CONVERGED) else 0
    over = "converged" if idle == 2 else ""
    if answer.stopped_because == "interrupted" or step + 1 == options.rounds:
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
    """Return what is searched on a fabric; starts, chains and rounds come back to the same links."""
    return _problem(job, _Links(fabric), seed)


@lru_cache(maxsize=6)
def _problem(job: Job, links: _Links, seed: int) -> SearchProblem:
    return make_problem(job, links.fabric, seed=seed)


def forget_problems() -> None:
    """Forget what was searched; of many servers that is hundreds of megabytes."""
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
