"""The search for a job of operators: chains of proposals, strategy and wiring in turn, and drafts of the answer.

A search starts from strategies with many changes at once, each on its own wirings and simulated. Single moves lead
from data parallelism to the nearest local minimum only, and a fabric wired for one strategy makes all others slow.
So the search starts with tables in columns, layers split in 2, 4 or 8 and parts of the layers, wired by several
degree splits. The time of a strategy behind one switch with all ports is a cheap bound for any wiring; for
promising strategies, the wirings of least load are simulated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from topoopt.base.answers import Progress, fields_of
from topoopt.base.errors import Infeasible
from topoopt.base.workers import in_threads, wait_for
from topoopt.finder import FinderRules, build_fabric
from topoopt.jobs import Job, job_traffic, operators_of
from topoopt.plans import SearchRecord
from topoopt.routing import Fabric
from topoopt.search.alternating_optimization import Beginning, forget_problems, kept_problem, run_chains
from topoopt.search.baselines import fabric_request
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
from topoopt.search.proposals.mcmc import make_problem
from topoopt.search.starting_strategies import (
    COLUMNS,
    DEGREES,
    LAYER_DIMS,
    fits,
    has_columns,
    layers_of,
    parts_of,
    split_layers,
    split_tables,
    starting_strategy,
    tensor_parallel_starts,
)
from topoopt.workloads import ParallelStrategy, data_parallel


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
MOST_WIRED, MOST_PARTS = 3, 2
"""Wirings of a strategy, and parts of its layers, that are simulated."""
NEARLY = 0.005
"""Fraction of the iteration time that more columns must gain."""
LARGE = 256
"""Servers above which one split of all layers is simulated on one wiring: laying out one that is no circulant for the
estimate takes seconds of 1,024."""


@dataclass(frozen=True, eq=False)
class _Split:
    """Layers split alike: in how many parts on which dim."""

    degree: int
    dim: str

    def of(self, job: Job, columns: int, layers: tuple[int, ...]) -> ParallelStrategy:
        plain = data_parallel(operators_of(job).graph, job.cluster.servers)
        return split_layers(job, split_tables(job, plain, columns), self.degree, self.dim, layers)


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
    searched = in_threads(
        lambda row: candidate_on(job, row.strategy, row.fabric, row.rules or options.rules, options.seed),
        (chains.best,) if large else chains.answers,
    )
    times_s = tuple(row.time_s for row in told(searched, found))
    because, convergence = chains.best.stopped_because, chains.best.convergence
    if because != "interrupted":
        searched += told(_on_all_wirings(job, options, [*searched, *starts]), found)
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
    columns, best_s = _best_columns(job, options, plain), plain.time_s
    if columns > 1:
        start = data_parallel(operators_of(job).graph, job.cluster.servers)
        row = wired_candidate(job, split_tables(job, start, columns), options.rules, options.seed)
        best_s = min(best_s, row.time_s)
        yield row
    if (
        job.cluster.servers > LARGEST_FOR_ALL
    ):  # groups are wired pair by pair, and the links of all pairs are several GB
        return
    layers, found = layers_of(job), list[tuple[_Split, Candidate]]()
    few = min(columns, COLUMNS[0]) if job.cluster.servers <= LARGE else columns
    for split in _promising(job, layers, columns, best_s):
        strategy = split.of(job, few, layers)
        for rules, fabric in _least_loaded(job, options, strategy):
            found.append((split, candidate_on(job, strategy, fabric, rules, options.seed)))
            yield found[-1][1]
    if found:
        split, row = min(found, key=lambda pair: pair[1].time_s)
        whole = split.of(job, columns, layers)
        others = (split.of(job, columns, part) for part in parts_of(layers))
        yield from _refined(job, options, row, whole, others)


def _best_columns(job: Job, options: SearchOptions, plain: Candidate) -> int:
    """Return the fewest columns with which tables are nearly the fastest by the estimate, wired for data parallelism.

    Each column is a transfer more to simulate for every table and server.
    """
    if not has_columns(job):
        return 1
    start = data_parallel(operators_of(job).graph, job.cluster.servers)
    rows = {k: split_tables(job, start, k) for k in (1, *COLUMNS) if job.cluster.servers % k == 0}
    estimate_s = kept_problem(job, plain.fabric, options.seed).iteration_time_s
    times_s = {k: estimate_s(row) for k, row in rows.items() if fits(job, row)}
    limit_s = (1 + NEARLY) * min(times_s.values(), default=0.0)
    return next((k for k, time_s in times_s.items() if time_s <= limit_s), 1)


def _promising(job: Job, layers: tuple[int, ...], columns: int, to_beat_s: float) -> list[_Split]:
    """Return the better dim for each degree, where one switch with all ports would take less than ``to_beat_s``.

    In a large cluster, only the best degree is returned.
    """
    cluster = job.cluster
    degrees = [k for k in DEGREES if cluster.servers % k == 0 and cluster.servers > k]
    if not layers or not degrees:
        return []
    switch = build_fabric("ideal-switch", fabric_request(cluster, cluster.server_bandwidth_bps, 0))
    estimate_s, chosen = make_problem(job, switch).iteration_time_s, list[tuple[float, _Split]]()
    for degree in degrees:
        rows = [(_Split(degree, dim), _Split(degree, dim).of(job, columns, layers)) for dim in LAYER_DIMS]
        times_s = [(estimate_s(strategy), split) for split, strategy in rows if fits(job, strategy)]
        chosen += sorted(times_s, key=lambda row: row[0])[:1]
    if cluster.servers > LARGE:
        chosen = sorted(chosen, key=lambda row: row[0])[:1]
    return [split for time_s, split in chosen if time_s < to_beat_s]


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


def _refined(
    job: Job,
    options: SearchOptions,
    row: Candidate,
    whole: ParallelStrategy,
    others: Iterable[ParallelStrategy],
) -> Iterator[Candidate]:
    """Yield the best split with the columns that tables prefer, then estimated best splits of subsets of layers."""
    if whole != row.strategy:
        yield wired_candidate(job, whole, row.rules, options.seed)
    if job.cluster.servers > LARGE:
        return
    estimate_s = kept_problem(job, row.fabric, options.seed).iteration_time_s
    ranked = sorted((strategy for strategy in others if fits(job, strategy)), key=estimate_s)
    for strategy in ranked[:MOST_PARTS]:
        yield wired_candidate(job, strategy, row.rules, options.seed)


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
