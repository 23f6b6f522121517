"""The fabrics a plan is compared with: each gets the job, a strategy searched for it, and its price."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from operator import methodcaller

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.catalog import NETWORKS, ClusterSpec, Sizing, check_networks
from topoopt.collectives import QUICKEST, RING
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, TransformerWork, job_traffic
from topoopt.plans import Baseline, Outcome
from topoopt.pricing import Pricing, known_price
from topoopt.routing import Fabric
from topoopt.search.alternating_optimization import fixed_fabric
from topoopt.search.candidates.candidate import outcome, raced, simulated, task_graph_of, with_rings
from topoopt.search.candidates.wiring_choice import balanced_fabric, usual_routes
from topoopt.search.options import LARGEST_FOR_ALL, SearchOptions, as_many_as_fit
from topoopt.search.proposals.mcmc import ChainAnswer, SearchProblem, make_problem
from topoopt.search.proposals.problem_tables import most_rings_of
from topoopt.search.strategy_pool import strategy_pool
from topoopt.simulation import AtLeast, SimulationOptions, analytic_flows, free_time_s
from topoopt.workloads import ParallelStrategy


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A simulator's name, its options, and other settings to try at the end."""

    simulator: str = "analytic"
    options: SimulationOptions = field(default_factory=SimulationOptions)
    tried: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def on(self, fabric: Fabric) -> "Fidelity":
        """Return a fidelity that supports the fabric: flows where circuits change, since ``analytic`` cannot."""
        changes = fabric.reconfiguration is not None and self.simulator == "analytic"
        return replace(self, simulator="flow") if changes else self

    @property
    def of_search(self) -> "Fidelity":
        """Fidelity of the search: without choices made last, such as algorithms per message, for which rings are
        used."""
        options = self.options
        if options.algorithm == QUICKEST:
            options = replace(options, algorithm=RING)
        return replace(self, options=options, tried=())


ANALYTIC = Fidelity()
LARGEST_TO_TRY_ALL = 32
"""Servers up to which every strategy is tried on circuits that change; a simulation of DLRM takes 0.2 s of CPU on 16
of them and 60 s on 128. Beyond, the one that the search has found counts."""
LARGE = 1_000_000
"""Total flows of a job's layouts above which hopeless ones are skipped: a second of CPU time per fabric."""
NEAR = 1.02
"""Factor of the fastest within which a layout is simulated to its end: one that leaves memory free is chosen although
a percent slower, and with first come, first served links, fewer micro-batches do not predict more exactly."""
_free_time_s = lru_cache(maxsize=64)(free_time_s)
_step_flows = lru_cache(maxsize=256)(analytic_flows)
MANY = 64
"""Servers above which fewer strategies are simulated per fabric: at 1,024 each takes over a second of CPU time."""
MOST_BALANCED = 3
"""Layouts per fabric up to :data:`MANY` servers whose routes are balanced, the fastest before."""
MOST_PROMISING = 4
"""Strategies simulated per fabric up to :data:`MANY` servers, the fastest by the estimate of the search's kernel."""
FEWER_PROMISING = 2
"""Strategies simulated per fabric above :data:`MANY` servers."""
NEAR_FASTEST = 1.05
"""Factor of the least estimate up to which others are simulated, too."""
Built = tuple[Sizing, Fabric]


def search_baselines(
    job: Job,
    built: Sequence[Built],
    options: SearchOptions,
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    fidelity: Fidelity = ANALYTIC,
    on_progress: Progress = silent,
) -> list[tuple[Baseline, Fabric]]:
    """Search a strategy for each baseline from the job's pool; the best of each, and of the pool, is tried on all.

    Rows come with their fabrics, whose routes are balanced where that makes the job faster, as those of a plan are.

    On changing circuits with more than :data:`LARGEST_TO_TRY_ALL` servers, only strategies found by the search
    count. With more than :data:`~topoopt.search.options.LARGEST_FOR_ALL`, or without a budget for baselines, nothing
    is searched, and the ``starts`` are tried.
    """
    searched = options.baseline_budget and job.cluster.servers <= LARGEST_FOR_ALL
    pool = strategy_pool(job, options) if searched else ()
    trials, starts = list[_Trial](), tuple(dict.fromkeys((*starts[::-1], *pool)))
    for index, (rule, fabric) in enumerate(built):
        on_progress(f"searching for {rule.fabric}", index, len(built))
        trials.append(_searched(job, rule, fabric, options, prices, starts, fidelity))
    _try_all(trials, [trial.promising(starts) for trial in trials])
    # What is good on one fabric may be better than what the search has found on another.
    everywhere = tuple(dict.fromkeys(trial.best for trial in trials))
    _try_all(trials, [trial.near(everywhere) for trial in trials])
    return as_many_as_fit(methodcaller("row", prices, options.balance), trials, job.cluster.servers)


@dataclass(eq=False, slots=True)
class _Trial:
    job: Job
    rule: Sizing
    fabric: Fabric
    seed: int
    fidelity: Fidelity
    found: ChainAnswer
    problem: SearchProblem | None
    outcomes: dict[ParallelStrategy, Outcome] = field(default_factory=dict)
    order: list[ParallelStrategy] = field(default_factory=list)

    @property
    def others_allowed(self) -> bool:
        """Whether strategies found elsewhere are tried."""
        return self.fabric.reconfiguration is None or self.job.cluster.servers <= LARGEST_TO_TRY_ALL

    def allowed(self, others: Sequence[ParallelStrategy]) -> list[ParallelStrategy]:
        """Return the strategies found and, where allowed, the others."""
        return [self.found.strategy, *others] if self.others_allowed else [self.found.strategy]

    def near(self, others: Sequence[ParallelStrategy]) -> list[ParallelStrategy]:
        """Return the strategies, found here or elsewhere, that may be the fastest, the best estimate first."""
        allowed = list(dict.fromkeys(self.allowed(others)))
        if self.problem is None or len(allowed) == 1:
            return allowed
        times_s = {strategy: self.problem.iteration_time_s(strategy) for strategy in allowed}
        limit_s = NEAR_FASTEST * min(times_s.values())
        return sorted((row for row in allowed if times_s[row] <= limit_s), key=times_s.__getitem__)

    def promising(self, others: Sequence[ParallelStrategy]) -> list[ParallelStrategy]:
        """Return the fastest by the estimate of the search's kernel, and the first of the others."""
        rows = self.near(others)
        if self.problem is None or not self.others_allowed:
            return rows
        most = MOST_PROMISING if self.job.cluster.servers <= MANY else FEWER_PROMISING
        return list(dict.fromkeys((*rows[:most], others[0])))

    @property
    def best(self) -> ParallelStrategy:
        """The fastest; ties go to the first requested."""
        return min(self.order, key=lambda strategy: self.outcomes[strategy].iteration_time_s)

    def run(self, strategy: ParallelStrategy) -> None:
        """Simulate a strategy."""
        laid = ringed(self.job, strategy, self.fabric, self.seed)
        self.outcomes[strategy] = outcome_on(self.job, strategy, laid, self.fidelity)

    def row(self, prices: Pricing, balance: bool) -> tuple[Baseline, Fabric]:
        """Return the row of the best strategy, and the fabric with its routes."""
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
    """Run the wanted strategies on each fabric, strategy by strategy, since task graphs are large."""
    for trial, strategies in zip(trials, wanted, strict=True):
        trial.order += [strategy for strategy in dict.fromkeys(strategies) if strategy not in trial.order]
    for strategy in dict.fromkeys(strategy for trial in trials for strategy in trial.order):
        waiting = [trial for trial in trials if strategy in trial.order and strategy not in trial.outcomes]
        if waiting:
            task_graph_of(waiting[0].job, strategy)  # made once, not by every thread
            as_many_as_fit(methodcaller("run", strategy), waiting, strategy.servers)


def _searched(
    job: Job,
    rule: Sizing,
    fabric: Fabric,
    options: SearchOptions,
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    fidelity: Fidelity,
) -> _Trial:
    rng = np.random.default_rng(np.random.SeedSequence(options.seed))
    searched = fabric
    if NETWORKS[rule.fabric].changes:
        searched = baseline_fabric(job, rule, prices, options.seed, "ideal-switch")
    problem = None
    if job.cluster.servers > LARGEST_FOR_ALL and starts[0].splits:
        found = ChainAnswer(starts[0], searched, 0.0, 0, "too many servers", ())
        return _Trial(job, rule, fabric, options.seed, fidelity, found, None)
    if starts[0].splits:
        problem = make_problem(job, searched, measured_only=options.mode == "released", seed=options.seed)
    budget = min(options.baseline_budget, options.budget)
    found = fixed_fabric(job, searched, options, budget, rng, starts, problem)
    return _Trial(job, rule, fabric, options.seed, fidelity, found, problem)


def layouts_on_baselines(
    job: Job,
    fabrics: Sequence[tuple[Sizing, Fabric]],
    layouts: Sequence[ParallelStrategy],
    prices: Pricing,
    seed: int,
    fidelity: Fidelity,
    on_progress: Progress,
    balance: bool = True,
) -> tuple[Baseline, ...]:
    """Return each fabric with the fastest layout on it, at the end with balanced routes where these make it faster.

    A layout goes through all fabrics before the next one, for its task graph is large. On circuits that change only
    the first is tried for more than :data:`LARGEST_TO_TRY_ALL` servers. Of a large job a layout is left out as soon as
    it shows that it cannot be the fastest, and has the time that it takes at least.
    """
    ready = [_ready(job, fabric, layouts, seed) for _, fabric in fabrics]
    tried: list[dict[int, Outcome]] = [{} for _ in fabrics]
    times_s: list[list[float]] = [[] for _ in fabrics]
    for index, layout in enumerate(layouts):
        on_progress("simulating other fabrics", index, len(layouts))
        for place, laid in enumerate(ready):
            if index < len(laid):
                limit_s = to_beat_s(job, min(times_s[place], default=inf))
                found = _raced(job, index, layout, laid[index], fidelity, limit_s)
                if isinstance(found, AtLeast):
                    times_s[place].append(found.least_s)
                    continue
                tried[place][index] = found
                times_s[place].append(found.iteration_time_s)
    rows = []
    for place, (rule, fabric) in enumerate(fabrics):
        row = _baseline(job, rule, fabric, tried[place], times_s[place], layouts, prices)
        near = sorted(tried[place], key=lambda index: tried[place][index].iteration_time_s)
        near = near[: MOST_BALANCED if job.cluster.servers <= MANY else 1] if balance else []
        for index in near:
            row = _balanced(job, row, layouts[index], index, ready[place][index], fidelity)
        rows.append(row)
    return tuple(rows)


def _balanced(
    job: Job, row: Baseline, layout: ParallelStrategy, index: int, laid: Fabric, fidelity: Fidelity
) -> Baseline:
    """Return the row, or that of a layout which is faster with the routes that suit it best."""
    other = balanced_fabric(job_traffic(job, layout), laid)
    if other is laid:
        return row
    again = outcome_on(job, layout, other, fidelity)
    times_s = list(row.layout_times_s)
    if times_s:
        times_s[index] = min(times_s[index], again.iteration_time_s)
    row = replace(row, layout_times_s=tuple(times_s))
    if again.iteration_time_s >= row.outcome.iteration_time_s:
        return row
    return replace(row, outcome=again, strategy=layout, routes=other.routes.method)


def _raced(
    job: Job, index: int, layout: ParallelStrategy, fabric: Fabric, fidelity: Fidelity, limit_s: float
) -> Outcome | AtLeast:
    """Return the outcome of a layout on a fabric, or a lower bound if that is not below ``limit_s``."""
    if limit_s == inf:
        return outcome_on(job, layout, fabric, fidelity)
    least_s = least_time_s(job, index)
    if least_s >= limit_s:
        return AtLeast(least_s)
    if fidelity != ANALYTIC or fabric.reconfiguration is not None:
        return outcome_on(job, layout, fabric, fidelity)
    result = raced(job, layout, fabric, limit_s)
    return result if isinstance(result, AtLeast) else outcome(result)


def _ready(job: Job, fabric: Fabric, layouts: Sequence[ParallelStrategy], seed: int) -> list[Fabric]:
    changes = fabric.reconfiguration is not None and job.cluster.servers > LARGEST_TO_TRY_ALL
    return [ringed(job, layout, fabric, seed) for layout in layouts[: 1 if changes else None]]


def _baseline(
    job: Job,
    rule: Sizing,
    fabric: Fabric,
    outcomes: Mapping[int, Outcome],
    times_s: Sequence[float],
    layouts: Sequence[ParallelStrategy],
    prices: Pricing,
) -> Baseline:
    best = min(outcomes, key=lambda index: outcomes[index].iteration_time_s)
    all_tried = len(times_s) == len(layouts)
    row = baseline_row(job, rule, prices, outcomes[best], layouts[best], 0, fabric)
    left_out = tuple(index for index in range(len(layouts)) if index not in outcomes) if all_tried else ()
    return replace(row, layout_times_s=tuple(times_s) if all_tried else (), left_out=left_out)


def is_large(job: Job) -> bool:
    """Return whether layouts that cannot win are skipped in simulations."""
    work = job.work
    if not isinstance(work, TransformerWork):
        return False
    return sum(_step_flows(layout.step) for layout in work.layouts) > LARGE


def to_beat_s(job: Job, fastest_s: float) -> float:
    """Return the time from which on a layout is not simulated to its end, where the fastest so far takes so long."""
    return NEAR * fastest_s if is_large(job) else inf


def least_time_s(job: Job, index: int) -> float:
    """Return the time of a layout with free communication, the same on every fabric."""
    assert isinstance(job.work, TransformerWork)
    return _free_time_s(job.work.layouts[index].step)


def check_fabrics(fabrics: tuple[str, ...]) -> None:
    """Refuse a fabric that is not in the table.

    Raises
    ------
    InvalidInput
        With the nearest names.
    """
    check_networks("fabric", fabrics, "plan")


def baseline_fabric(job: Job, rule: Sizing, prices: Pricing, seed: int, name: str | None = None) -> Fabric:
    """Return the baseline's links and routes, without rings; ``name`` is another fabric of as much bandwidth."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    request = fabric_request(job.cluster, interfaces * bandwidth_bps, seed)
    return usual_routes(build_fabric(name or rule.fabric, request), seed)


def fabric_request(cluster: ClusterSpec, server_bandwidth_bps: float, seed: int) -> FabricRequest:
    """Return the request for a fabric of the cluster, with this bandwidth per server."""
    return FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        server_bandwidth_bps=server_bandwidth_bps,
        seed=seed,
    )


def baseline_row(
    job: Job,
    rule: Sizing,
    prices: Pricing,
    outcome: Outcome,
    strategy: ParallelStrategy,
    proposals: int,
    fabric: Fabric,
) -> Baseline:
    """Return one row of a comparison, priced; ``fabric`` has the routes of the job."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    price = known_price(rule.fabric, job.cluster.servers, interfaces, bandwidth_bps, prices)
    return Baseline(
        rule.fabric,
        rule.description,
        interfaces * bandwidth_bps,
        outcome,
        strategy,
        proposals,
        rule=rule.key,
        routes="" if fabric.reconfiguration is not None else fabric.routes.method,
        variant=rule.variant,
        **price.columns,
    )


def ringed(job: Job, strategy: ParallelStrategy, fabric: Fabric, seed: int) -> Fabric:
    """Return a fabric with rings for the groups of a strategy."""
    rings = most_rings_of(job.cluster, fabric.topology)
    return with_rings(fabric, job_traffic(job, strategy), rings, seed)


def outcome_on(job: Job, strategy: ParallelStrategy, fabric: Fabric, fidelity: Fidelity) -> Outcome:
    """Return the outcome of a strategy on a fabric that has rings for its groups."""
    fidelity = fidelity.on(fabric)
    return outcome(simulated(job, strategy, fabric, fidelity.simulator, fidelity.options))


def as_settled(options: SimulationOptions, outcome: Outcome) -> SimulationOptions:
    """Return the options, of an algorithm for each message those of rings where an outcome is of rings."""
    rings = options.algorithm == QUICKEST and not outcome.algorithms
    return replace(options, algorithm=RING) if rings else options
