"""The search for a job of operators: chains of proposals, strategy and wiring in turn, and drafts of the answer.

A search starts from strategies with many changes at once, each on its own wirings and simulated. Single moves lead
from data parallelism to the nearest local minimum only, and a fabric wired for one strategy makes all others slow.
So the search starts with the strategies of the job's pool (:mod:`topoopt.search.strategy_pool`), wired by several
degree splits. The time of a strategy behind one switch with all ports is a cheap bound for any wiring; for
promising strategies, the wirings of least load are simulated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from topoopt.base.answers import Progress, fields_of
from topoopt.base.errors import Infeasible
from topoopt.base.workers import in_threads, wait_for
from topoopt.finder import FinderRules
from topoopt.jobs import Job, job_traffic
from topoopt.plans import SearchRecord
from topoopt.routing import Fabric
from topoopt.search.alternating_optimization import Beginning, forget_problems, kept_problem, run_chains
from topoopt.search.candidates.candidate import (
    WHOLE,
    Candidate,
    candidate_on,
    fabric_for,
    iteration_bounds,
    same_links,
    wired_candidate,
    with_rings,
)
from topoopt.search.candidates.wiring_choice import (
    MANY,
    kept_wirings,
    load_s,
    most_kept,
    rules_to_try,
    splits_to_try,
    wiring_name,
)
from topoopt.search.compile_ahead import use_loads
from topoopt.search.options import LARGEST_FOR_ALL, MANY_STARTS, SearchOptions, affordable, as_many_as_fit
from topoopt.search.port_estimate import PortNetwork, port_problem
from topoopt.search.starting_strategies import fits, starting_strategy, tensor_parallel_starts
from topoopt.search.strategy_pool import refined, strategy_pool
from topoopt.topologies import moore_average_hops
from topoopt.workloads import ParallelStrategy


@dataclass(frozen=True, slots=True)
class Draft:
    """A preliminary answer.

    Attributes
    ----------
    time_s : float
        Simulated, of an iteration.
    wiring : str
        Family of wirings that it is of.
    lower_bound_s : float or None
        Lower bound of its strategy on any network of these ports; None where its simulation is too large to be kept.
    """

    time_s: float
    wiring: str
    lower_bound_s: float | None

    @property
    def gap(self) -> float | None:
        """Relative distance from the bound."""
        return self.time_s / self.lower_bound_s - 1 if self.lower_bound_s else None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {
            "iteration_time_s": self.time_s,
            **fields_of(self, "wiring", "lower_bound_s", "gap"),
        }


Found = Callable[[Candidate], None]
"""Called with each candidate that was simulated."""
SPLITS = ("proportional", "by-group-but-one", "by-group-but-two", "by-group")
"""Degree splits by which split layers are wired."""
MOST_STRATEGIES, FEWER_STRATEGIES, MOST_WIRED = 8, 3, 3
"""Strategies of the pool that are simulated, fewer above :data:`SMALL` servers, and wirings of each."""
SMALL = 64
LARGE = 256
"""Servers above which it is one strategy on one wiring: laying out one that is no circulant for the estimate takes
seconds of 1,024."""


STRATEGIES_TRIED = 3
"""Strategies that are simulated on all wirings that are kept for them; of many servers only the fastest."""
ALIVE = 2
"""Wirings that the chains search on: that of the least load, and strides. Preparing a search on one takes
longer than simulating its answers."""
NEAR_ENOUGH = 1.08
"""Factor of the fastest start up to which one of another degree split gets a chain of its own."""


def search_operators(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the starts, data parallelism first, and the candidates found, all simulated."""
    made, options = 0, replace(options, budget=affordable(options.budget, job.cluster.servers))

    def tick(proposals: int) -> None:
        nonlocal made
        made += proposals
        on_progress("searching strategy and topology", made, options.budget)

    starts = told(simulated_starts(job, options), found)
    wait_for("chain", use_loads)
    chains = run_chains(job, options, tick, _beginnings(job, options, starts))
    if job.cluster.servers > MANY:
        forget_problems()
    large = job.cluster.servers > LARGEST_FOR_ALL
    because, convergence, searched = chains.best.stopped_because, chains.best.convergence, list[Candidate]()
    try:
        searched = in_threads(
            lambda row: candidate_on(job, row.strategy, row.fabric, row.rules or options.rules, options.seed),
            (chains.best,) if large else chains.answers,
        )
        times_s = tuple(row.time_s for row in told(searched, found))
        if because != "interrupted":
            searched += told(_on_all_wirings(job, options, [*searched, *starts]), found)
    except KeyboardInterrupt:  # the starts, and what was simulated, are kept
        because, times_s = "interrupted", tuple(row.time_s for row in searched)
    return starts, searched, SearchRecord(chains.proposals, because, times_s, convergence, chains.cpu_s)


def told(rows: Iterable[Candidate], found: Found) -> list[Candidate]:
    """Report candidates to ``found`` and return them."""
    listed = []
    for row in rows:
        found(row)
        listed.append(row)
    return listed


def _beginnings(job: Job, options: SearchOptions, starts: list[Candidate]) -> list[Beginning]:
    """Return the best start of each degree split that is nearly the fastest, that one first; each chain takes the next.

    Where there is one only, another chain begins at data parallelism. Several wirings of all servers alternate;
    groups keep their split, on which alone they are fast.
    """
    rows: dict[str, Candidate] = {}
    for row in sorted(starts, key=lambda row: row.time_s):
        if not rows or row.time_s <= NEAR_ENOUGH * next(iter(rows.values())).time_s:
            rows.setdefault(row.rules.degree_split, row)
    alive: tuple[FinderRules, ...] = ()
    begin: list[Beginning] = []
    for split, row in rows.items():
        if split != options.degree_split:
            begin.append(Beginning(row.strategy, (row.rules,)))
            continue
        alive = _alive(job, options, row.strategy)
        begin.append(Beginning(row.strategy, alive))
        begin += [Beginning(starts[0].strategy, (*alive[1:], *alive[:1]))] if len(rows) == 1 else []
    return begin


def _alive(job: Job, options: SearchOptions, first: ParallelStrategy) -> tuple[FinderRules, ...]:
    """Return the wirings that the chains take by turns, that of the least load first, that of the options last.

    With many servers, that of the options alone: the estimate's tables for other wirings take too long.
    """
    if not options.any_wiring or job.cluster.servers > MANY:
        return ()
    rules = rules_to_try(job.cluster, options, (WHOLE,))
    usual, *others = kept_wirings(job, first, rules, options.seed, ALIVE)
    return tuple(one for one, _ in (*others, usual))


def _on_all_wirings(job: Job, options: SearchOptions, found: list[Candidate]) -> Iterator[Candidate]:
    """Yield the fastest strategies on regular wirings, each on suitable ones."""
    if not options.any_wiring:
        return
    rules = rules_to_try(job.cluster, options, (WHOLE,))
    alike = [row for row in found if row.rules.degree_split in (options.degree_split, WHOLE)]
    fastest = dict.fromkeys(row.strategy for row in sorted(alike, key=lambda row: row.time_s))
    for strategy in list(fastest)[: STRATEGIES_TRIED if job.cluster.servers <= MANY else 1]:
        known = [row.fabric for row in found if row.strategy == strategy]
        kept = kept_wirings(job, strategy, rules, options.seed, most_kept(job))
        new = [(one, fabric) for one, fabric in kept if not any(same_links(fabric, other) for other in known)]
        yield from as_many_as_fit(partial(_on_wiring, job, strategy, options.seed), new, job.cluster.servers)


def _on_wiring(
    job: Job, strategy: ParallelStrategy, seed: int, wired: tuple[FinderRules, Fabric]
) -> Candidate:
    return candidate_on(job, strategy, wired[1], wired[0], seed)


def simulated_starts(job: Job, options: SearchOptions) -> list[Candidate]:
    """Return data parallelism first, then the other starts of the search; all of them are valid answers.

    A search without budget and the authors' mode have data parallelism only, their preset the starts of the
    paper's search: uniform tensor-parallel strategies on the requested wiring.
    """
    plain = wired_candidate(job, starting_strategy(job), options.rules, options.seed)
    if options.mode != "alternating" or options.budget == 0:
        return [plain]
    if options.starts == MANY_STARTS:
        return [plain, *_good_starts(job, options, plain)]
    rows = tensor_parallel_starts(job) if job.cluster.servers <= LARGE else ()
    return [
        plain,
        *(wired_candidate(job, row, options.rules, options.seed) for row in rows if fits(job, row)),
    ]


def _good_starts(job: Job, options: SearchOptions, plain: Candidate) -> Iterator[Candidate]:
    """Yield the strategies of the pool on wirings of their own, while one switch with all ports would be faster."""
    pool, cluster, best_s = strategy_pool(job, options), job.cluster, plain.time_s
    hops = moore_average_hops(cluster.servers, cluster.degree, cluster.links)
    switch = PortNetwork(1, 1, cluster.server_bandwidth_bps, cluster.link_latency_s, 2)
    relayed = replace(switch, links=1, pool_hops=hops, ring_hops=1.0, group_hops=1.0)
    problems = [port_problem(job, network) for network in (relayed, switch)]
    own = [strategy for problem in problems for strategy in refined(problem, pool, options.budget)]
    pool, ranked = tuple(dict.fromkeys((*own, *pool))), list[list[ParallelStrategy]]()
    if cluster.servers <= LARGE:
        problems.insert(0, kept_problem(job, plain.fabric, options.seed))
    for problem in problems:
        least_s = {strategy: problem.iteration_time_s(strategy) for strategy in pool}
        ranked.append(sorted(pool, key=least_s.__getitem__))
    if cluster.servers <= LARGE:
        yield candidate_on(job, ranked[0][0], plain.fabric, options.rules, options.seed)
    if cluster.servers > LARGEST_FOR_ALL:  # the links of all groups would be several GB
        yield wired_candidate(job, ranked[-1][0], options.rules, options.seed)
        return
    most = (
        MOST_STRATEGIES if cluster.servers <= SMALL else FEWER_STRATEGIES if cluster.servers <= LARGE else 1
    )
    for strategy in list(dict.fromkeys(chain.from_iterable(zip(*ranked, strict=True))))[:most]:
        if least_s[strategy] >= best_s:  # on the switch, the last of them
            continue
        for rules, fabric in _least_loaded(job, options, strategy):
            row = candidate_on(job, strategy, fabric, rules, options.seed)
            best_s = min(best_s, row.time_s)
            yield row


def _least_loaded(
    job: Job, options: SearchOptions, strategy: ParallelStrategy
) -> list[tuple[FinderRules, Fabric]]:
    """Return different wirings for a strategy, by the requested degree split or by others."""
    traffic, rows = job_traffic(job, strategy), list[tuple[float, FinderRules, Fabric]]()
    for split in splits_to_try(options, SPLITS):
        rules = replace(options.rules, degree_split=split)
        try:
            fabric = fabric_for(job, strategy, rules, options.seed)
        except Infeasible:
            continue
        if not any(same_links(fabric, other) for _, _, other in rows):
            ready = with_rings(fabric, traffic, job.cluster.degree, options.seed)
            rows.append((load_s(ready, traffic), rules, ready))
    most = MOST_WIRED if job.cluster.servers <= LARGE else 1
    return [(rules, fabric) for _, rules, fabric in sorted(rows, key=lambda row: row[0])[:most]]


def drafts_for(on_draft: Callable[[Draft], None] | None) -> Found:
    """Return the callback for candidates: it reports each one that is faster than all before it.

    Without a listener, no bound is computed.
    """
    best_s = float("inf")

    def found(row: Candidate) -> None:
        nonlocal best_s
        if on_draft is None or row.time_s >= best_s:
            return
        best_s = row.time_s
        least = (
            iteration_bounds(row.job, row.strategy, row.kept).lower_bound_s if row.kept is not None else None
        )
        on_draft(Draft(row.time_s, wiring_name(row), least))

    return found
