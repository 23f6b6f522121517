"""A strategy for each fabric that a plan is compared with: searched there, and what was found on the others tried."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller

import numpy as np

from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, Outcome
from topoopt.pricing import Pricing
from topoopt.routing import Fabric
from topoopt.search.affordable import LARGEST_FOR_ALL, as_many_as_fit
from topoopt.search.alternating import fixed_fabric
from topoopt.search.balance import balanced_fabric
from topoopt.search.baselines import (
    LARGEST_TO_TRY_ALL,
    BaselineRule,
    baseline_fabric,
    baseline_row,
    outcome_on,
    ringed,
)
from topoopt.search.fidelity import ANALYTIC, Fidelity
from topoopt.search.layout_baselines import layouts_on_baselines
from topoopt.search.markov_chain import ChainAnswer
from topoopt.search.options import SearchOptions
from topoopt.search.problem import SearchProblem, make_problem
from topoopt.search.progress import Progress, silent
from topoopt.search.task_graphs import task_graph_of
from topoopt.workloads.strategy import ParallelStrategy

LARGEST_TO_TRY_EVERY = 256
"""Servers up to which every strategy that was found on one fabric is simulated on all others: a second and more of CPU
time each for 1,024."""

MOST_PROMISING = 2
"""Strategies that are simulated on each fabric above that: the fastest by the estimate of the search's kernel."""

NEAR = 1.05
"""Times the least estimate, up to which the second is simulated, too."""

Built = tuple[BaselineRule, Fabric]


def search_baseline(
    job: Job,
    rule: BaselineRule,
    fabric: Fabric,
    options: SearchOptions,
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    fidelity: Fidelity = ANALYTIC,
) -> Baseline:
    """Search a strategy for one baseline; the fastest in simulation of what was found and ``starts`` counts.

    Of a transformer the fastest of its layouts does.
    Circuits that change are simulated as flows where ``analytic`` is asked for, which cannot follow them.
    """
    layouts = job.work.choices(job.cluster.servers)
    if layouts:
        one = [(rule, fabric)]
        return layouts_on_baselines(
            job, one, layouts, prices, options.seed, fidelity, silent, options.balance
        )[0]
    return search_baselines(job, [(rule, fabric)], options, prices, starts, fidelity)[0][0]


def search_baselines(
    job: Job,
    built: Sequence[Built],
    options: SearchOptions,
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    fidelity: Fidelity = ANALYTIC,
    on_progress: Progress = silent,
) -> list[tuple[Baseline, Fabric]]:
    """Search a strategy for each baseline; what is good on one is tried on all, as are the ``starts``.

    Rows come with their fabrics, whose routes are balanced where that makes the job faster, as those of a plan are.

    On circuits that change only what the search has found counts for more than :data:`LARGEST_TO_TRY_ALL` servers. Of
    more than :data:`~topoopt.search.affordable.LARGEST_FOR_ALL` nothing is searched, and the ``starts`` are tried.
    """
    trials: list[_Trial] = []
    for index, (rule, fabric) in enumerate(built):
        on_progress(f"searching for {rule.fabric}", index, len(built))
        trials.append(_searched(job, rule, fabric, options, prices, starts, fidelity))
    if job.cluster.servers > LARGEST_TO_TRY_EVERY:
        everywhere = tuple(dict.fromkeys((*starts, *(trial.found.strategy for trial in trials))))
        _try_all(trials, [trial.promising(everywhere) for trial in trials])
    else:
        _try_all(trials, [trial.allowed(starts) for trial in trials])
        # What is good on one fabric may be better than what the search has found on another.
        everywhere = tuple(dict.fromkeys(trial.best for trial in trials))
        _try_all(trials, [trial.allowed(everywhere) for trial in trials])
    return as_many_as_fit(methodcaller("row", prices, options.balance), trials, job.cluster.servers)


@dataclass(eq=False, slots=True)
class _Trial:
    """A fabric, and what each strategy that was tried on it takes."""

    job: Job
    rule: BaselineRule
    fabric: Fabric
    seed: int
    fidelity: Fidelity
    found: ChainAnswer
    problem: SearchProblem | None
    outcomes: dict[ParallelStrategy, Outcome] = field(default_factory=dict)
    order: list[ParallelStrategy] = field(default_factory=list)

    def allowed(self, others: Sequence[ParallelStrategy]) -> list[ParallelStrategy]:
        """Return what was found and the others, where these may be tried."""
        changing = self.fabric.reconfiguration is not None
        few = changing and self.job.cluster.servers > LARGEST_TO_TRY_ALL
        return [self.found.strategy] if few else [self.found.strategy, *others]

    def promising(self, others: Sequence[ParallelStrategy]) -> list[ParallelStrategy]:
        """Return those of what was found and the others that the search's kernel takes for the fastest."""
        allowed = list(dict.fromkeys(self.allowed(others)))
        if self.problem is None or len(allowed) <= MOST_PROMISING:
            return allowed
        times_s = {strategy: self.problem.iteration_time_s(strategy) for strategy in allowed}
        near = [strategy for strategy in allowed if times_s[strategy] <= NEAR * min(times_s.values())]
        return sorted(near, key=lambda strategy: times_s[strategy])[:MOST_PROMISING]

    @property
    def best(self) -> ParallelStrategy:
        """The fastest; of equally fast ones the first that was asked for."""
        return min(self.order, key=lambda strategy: self.outcomes[strategy].iteration_time_s)

    def run(self, strategy: ParallelStrategy) -> None:
        """Simulate a strategy."""
        laid = ringed(self.job, strategy, self.fabric, self.seed)
        self.outcomes[strategy] = outcome_on(self.job, strategy, laid, self.fidelity)

    def row(self, prices: Pricing, balance: bool) -> tuple[Baseline, Fabric]:
        """Return the row of the best strategy, and the fabric with the routes that it goes by."""
        strategy, fabric = self.best, self.fabric
        outcome = self.outcomes[strategy]
        if balance:
            laid = ringed(self.job, strategy, fabric, self.seed)
            other = balanced_fabric(job_traffic(self.job, strategy), laid)
            if other is not laid:
                again = outcome_on(self.job, strategy, other, self.fidelity)
                if again.iteration_time_s < outcome.iteration_time_s:
                    outcome, fabric = again, replace(fabric, routes=other.routes)
        return baseline_row(
            self.job, self.rule, prices, outcome, strategy, self.found.proposals, fabric
        ), fabric


def _try_all(trials: Sequence[_Trial], wanted: Sequence[Iterable[ParallelStrategy]]) -> None:
    """Run what is wanted on each fabric: a strategy goes through all of them, for its task graph is large."""
    for trial, strategies in zip(trials, wanted, strict=True):
        trial.order += [strategy for strategy in dict.fromkeys(strategies) if strategy not in trial.order]
    for strategy in dict.fromkeys(strategy for trial in trials for strategy in trial.order):
        waiting = [trial for trial in trials if strategy in trial.order and strategy not in trial.outcomes]
        if waiting:
            task_graph_of(waiting[0].job, strategy)  # made once, not by every thread
            as_many_as_fit(methodcaller("run", strategy), waiting, strategy.servers)


def _searched(
    job: Job,
    rule: BaselineRule,
    fabric: Fabric,
    options: SearchOptions,
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    fidelity: Fidelity,
) -> _Trial:
    rng = np.random.default_rng(np.random.SeedSequence(options.seed))
    searched = fabric
    if rule.searched_on:
        searched = baseline_fabric(job, rule, prices, options.seed, rule.searched_on)
    problem = None
    if job.cluster.servers > LARGEST_FOR_ALL and starts[0].splits:
        found = ChainAnswer(starts[0], searched, 0.0, 0, "too many servers", ())
        return _Trial(job, rule, fabric, options.seed, fidelity, found, None)
    if job.cluster.servers > LARGEST_TO_TRY_EVERY and starts[0].splits:
        problem = make_problem(job, searched, measured_only=options.mode == "released", seed=options.seed)
    budget = min(options.baseline_budget, options.budget)
    found = fixed_fabric(job, searched, options, budget, rng, starts, problem)
    return _Trial(job, rule, fabric, options.seed, fidelity, found, problem)
