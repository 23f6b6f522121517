"""The search for a job of operators: chains of proposals, strategy and wiring in turn; all answers on all wirings."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from topoopt.base.ahead import wait_for
from topoopt.base.workers import in_threads
from topoopt.finder import FinderRules
from topoopt.jobs import Job
from topoopt.plans import SearchRecord
from topoopt.routing import Fabric
from topoopt.search.affordable import LARGEST_FOR_ALL, affordable, as_many_as_fit
from topoopt.search.alternating import forget_problems
from topoopt.search.candidate import WHOLE, Candidate, candidate_on
from topoopt.search.compile_ahead import use_loads
from topoopt.search.draft import Found
from topoopt.search.good_starts import simulated_starts
from topoopt.search.markov_chains import Beginning, run_chains
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress
from topoopt.search.same_links import same_links
from topoopt.search.wiring_choice import MANY, kept_wirings, most_kept, rules_to_try
from topoopt.workloads.strategy import ParallelStrategy

STRATEGIES_TRIED = 3
"""Strategies that are simulated on all wirings that are kept for them; of many servers only the fastest."""

ALIVE = 2
"""Wirings that the chains search on: that of the least load, and strides. What a search needs to know of one takes
longer than simulating its answers on it."""

NEAR_ENOUGH = 1.08
"""Times the fastest start, up to which one of another degree split gets a chain of its own."""


def search_operators(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the starts, data parallelism first, and what was found, all simulated."""
    made, options = 0, replace(options, budget=affordable(options.budget, job.cluster.servers))

    def tick(proposals: int) -> None:
        nonlocal made
        made += proposals
        on_progress("searching strategy and topology", made, options.budget)

    starts = _told(simulated_starts(job, options), found)
    wait_for("chain", use_loads)
    chains = run_chains(job, options, tick, _beginnings(job, options, starts))
    if job.cluster.servers > MANY:
        forget_problems()
    large = job.cluster.servers > LARGEST_FOR_ALL
    searched = in_threads(
        lambda row: candidate_on(job, row.strategy, row.fabric, row.rules or options.rules, options.seed),
        (chains.best,) if large else chains.answers,
    )
    times_s = tuple(row.time_s for row in _told(searched, found))
    because, convergence = chains.best.stopped_because, chains.best.convergence
    if because != "interrupted":
        searched += _told(_on_all_wirings(job, options, [*searched, *starts]), found)
    return starts, searched, SearchRecord(chains.proposals, because, times_s, convergence, chains.cpu_s)


def _told(rows: Iterable[Candidate], found: Found) -> list[Candidate]:
    """Return candidates after each was told of."""
    told = []
    for row in rows:
        found(row)
        told.append(row)
    return told


def _beginnings(job: Job, options: SearchOptions, starts: list[Candidate]) -> list[Beginning]:
    """Return the best start of each degree split that is nearly the fastest, that one first; each chain takes the next.

    Where there is one only, another chain begins at data parallelism. All servers are wired in several ways by turns;
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

    On many servers that of the options alone: what the search's estimate needs to know of others takes long.
    """
    if not options.any_wiring or job.cluster.servers > MANY:
        return ()
    rules = rules_to_try(job.cluster, options, (WHOLE,))
    usual, *others = kept_wirings(job, first, rules, options.seed, ALIVE)
    return tuple(one for one, _ in (*others, usual))


def _on_all_wirings(job: Job, options: SearchOptions, found: list[Candidate]) -> Iterator[Candidate]:
    """Yield the fastest strategies on wirings of all servers alike, each on those that may suit it."""
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
