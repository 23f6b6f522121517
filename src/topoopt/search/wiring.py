"""The search where strategies can be listed, or there is none: every one on a network wired for it, by every rule.

A traffic matrix has no strategy. Of a transformer each layout is one. The closed form that ranked the layouts knows one
bandwidth for all groups. Here each gets links, rings and routes of its own and is simulated on them, so that a layout
that wires well can overtake one that ranks well.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from topoopt.finder import DEGREE_SPLITS, LAYOUT_SPLITS, FinderRules
from topoopt.jobs import Job, job_traffic
from topoopt.plans import SearchRecord
from topoopt.search.candidate import Candidate, candidate_on, fabric_for, simulated_candidate, wired_candidate
from topoopt.search.draft import Found
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress
from topoopt.search.recommended import recommended
from topoopt.search.wiring_choice import other_wirings, splits_to_try
from topoopt.search.worth import raced, with_rings
from topoopt.search.worth_simulating import least_time_s, to_beat_s
from topoopt.simulation import AtLeast
from topoopt.workloads.strategy import ParallelStrategy

MOST_OTHERS = 4
"""Wirings of other families that are simulated, for the best layout or a traffic matrix."""


def wire_traffic(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the wiring by the degree split that was asked for, and those by each, all simulated."""
    on_progress("wiring", 0, 0)
    began = time.process_time()
    first, *others = _wirings(job, job.work.plain_strategy(job.cluster.servers), options, found)
    rows = sorted((first, *others), key=lambda row: list(DEGREE_SPLITS).index(row.rules.degree_split))
    best = min(rows, key=lambda row: row.time_s)
    for rules, fabric in other_wirings(job, best.strategy, best.fabric, options, MOST_OTHERS):
        rows.append(candidate_on(job, best.strategy, fabric, rules, options.seed))
        found(rows[-1])
    times_s = tuple(row.time_s for row in rows)
    return [first], rows, SearchRecord(0, "fixed traffic", times_s, (), time.process_time() - began)


def wire_layouts(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the first layout and the one that is to be recommended, both simulated, and how it went.

    Each is wired by every rule, and only these two are kept: the result of a large simulation takes much memory.
    Ctrl-C ends with what was tried so far. Of a large job a layout is left out as soon as it shows that it cannot be
    the fastest; the record then has what it takes at least.
    """
    began = time.process_time()
    first: Candidate | None = None
    chosen: list[Candidate] = []
    times_s: list[float] = []
    left_out: list[int] = []
    convergence: list[tuple[int, float]] = []
    strategies, because, wired = job.work.choices(job.cluster.servers), "every layout tried", 0
    for index, strategy in enumerate(strategies):
        on_progress("wiring for each layout", index, len(strategies))
        limit_s = to_beat_s(job, convergence[-1][1] if convergence else inf)
        try:
            wirings, least_s, networks = _raced(job, index, strategy, options, limit_s)
        except KeyboardInterrupt:
            if first is None:
                raise
            because = "interrupted"
            break
        wired += networks
        best = min(wirings, key=lambda row: row.time_s, default=None)
        times_s.append(best.time_s if best else least_s)
        if best is None:
            left_out.append(index)
            continue
        if not convergence or best.time_s < convergence[-1][1]:
            convergence.append((wired, best.time_s))
        found(best)
        first = first or best
        chosen = [recommended(job, [*chosen, best])]
    cpu_s = time.process_time() - began
    record = SearchRecord(wired, because, tuple(times_s), tuple(convergence), cpu_s, tuple(left_out))
    assert first is not None
    if because != "interrupted":
        chosen = [recommended(job, [*chosen, *_on_other_wirings(job, chosen[0], options)])]
    return [first], chosen, record


def _on_other_wirings(job: Job, best: Candidate, options: SearchOptions) -> Iterator[Candidate]:
    """Yield the best layout on wirings of other families, those that show that they are not faster left out."""
    limit_s = to_beat_s(job, best.time_s)
    for rules, fabric in other_wirings(job, best.strategy, best.fabric, options, MOST_OTHERS):
        result = raced(job, best.strategy, fabric, limit_s)
        if not isinstance(result, AtLeast):
            yield simulated_candidate(job, best.strategy, fabric, rules, result)


def _raced(
    job: Job, index: int, strategy: ParallelStrategy, options: SearchOptions, limit_s: float
) -> tuple[list[Candidate], float, int]:
    """Return the wirings of a layout that may be the fastest, the least time of the others, and how many there are.

    ``limit_s`` is the time to beat; it falls with every wiring.
    """
    least_s = [least_time_s(job, index)] if limit_s < inf else []
    if least_s and least_s[0] >= limit_s:
        return [], least_s[0], 0
    wirings, beaten_s = list[Candidate](), list[float]()
    splits = _rules(options)
    for rules in splits:
        fabric = fabric_for(job, strategy, rules, options.seed)
        ready = with_rings(fabric, job_traffic(job, strategy), job.cluster.degree, options.seed)
        result = raced(job, strategy, ready, limit_s)
        if isinstance(result, AtLeast):
            beaten_s.append(result.least_s)
            continue
        wirings.append(simulated_candidate(job, strategy, ready, rules, result))
        limit_s = min(limit_s, to_beat_s(job, result.iteration_time_s))
    return wirings, min(beaten_s, default=0.0), len(splits)


def _wirings(job: Job, strategy: ParallelStrategy, options: SearchOptions, found: Found) -> list[Candidate]:
    """Return a strategy wired by every degree split, the one that was asked for first."""
    rows = []
    for rules in _rules(options):
        rows.append(wired_candidate(job, strategy, rules, options.seed))
        found(rows[-1])
    return rows


def _rules(options: SearchOptions) -> list[FinderRules]:
    """Return the rules with every degree split, the one that was asked for first."""
    return [replace(options.rules, degree_split=split) for split in splits_to_try(options, LAYOUT_SPLITS)]
