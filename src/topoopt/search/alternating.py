"""Alternating optimization: Comp × Comm with the topology fixed, Comm × Topo with the strategy fixed (section 3)."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from topoopt.finder import FinderRules
from topoopt.job import Job
from topoopt.routing import Fabric
from topoopt.search.candidate import fabric_for
from topoopt.search.markov_chain import ChainAnswer, search_strategy
from topoopt.search.options import SearchOptions
from topoopt.search.problem import SearchProblem, make_problem
from topoopt.search.same_links import same_links
from topoopt.strategy import ParallelStrategy

CONVERGED = 1e-4
"""After two rounds that improve the iteration time by less than this fraction the search stops."""


def alternate(
    job: Job,
    options: SearchOptions,
    start: ParallelStrategy,
    budget: int,
    rng: np.random.Generator,
    on_progress: Callable[[int], None] = lambda proposals: None,
    wirings: tuple[FinderRules, ...] = (),
) -> ChainAnswer:
    """Search strategy and topology in turn until neither improves, or the budget or the rounds end.

    The rounds take the ``wirings`` by turns, so that no strategy is bound to the one that was good for the first.
    """
    by_turns = wirings or (options.rules,)
    strategy = start
    rounds: list[ChainAnswer] = []
    convergence: list[tuple[int, float]] = []
    because, made, idle = "budget", 0, 0
    for step in range(options.rounds):
        rules = by_turns[step % len(by_turns)]
        fabric = fabric_for(job, strategy, rules, options.seed)
        share = (budget - made) // (options.rounds - step)
        answer = search_strategy(
            kept_problem(job, fabric, options.seed),
            strategy,
            share,
            rng,
            alpha_per_ms=options.alpha_per_ms,
            on_progress=on_progress,
        )
        convergence += [(made + proposals, time_s) for proposals, time_s in answer.convergence]
        made += answer.proposals
        so_far = min((row.time_s for row in rounds), default=float("inf"))
        rounds.append(replace(answer, rules=rules))
        strategy = answer.strategy
        if answer.stopped_because == "interrupted":
            because = "interrupted"
            break
        idle = idle + 1 if answer.time_s >= so_far * (1 - CONVERGED) else 0
        if idle == 2 and step + 1 < options.rounds:
            because = "converged"
            break
    best = min(rounds, key=lambda row: row.time_s)
    return replace(best, proposals=made, stopped_because=because, convergence=_descending(convergence))


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


def _descending(convergence: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Keep the points at which the best time so far fell."""
    kept: list[tuple[int, float]] = []
    for proposals, time_s in convergence:
        if not kept or time_s < kept[-1][1]:
            kept.append((proposals, time_s))
    return tuple(kept)


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
