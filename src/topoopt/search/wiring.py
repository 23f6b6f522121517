"""The search where strategies can be listed, or there is none: every one on a network wired for it, by every rule.

A traffic matrix has no strategy. Of a transformer each layout is one. The closed form that ranked the layouts knows one
bandwidth for all groups. Here each gets links, rings and routes of its own and is simulated on them, so that a layout
that wires well can overtake one that ranks well.
"""

import time
from dataclasses import replace

from topoopt.finder import DEGREE_SPLITS
from topoopt.job import Job
from topoopt.plan import SearchRecord
from topoopt.search.candidate import Candidate, wired_candidate
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress
from topoopt.search.worth_simulating import least_time_s
from topoopt.strategy import ParallelStrategy


def wire_traffic(
    job: Job, options: SearchOptions, on_progress: Progress
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the wiring by the degree split that was asked for, and those by each, all simulated."""
    on_progress("wiring", 0, 0)
    began = time.process_time()
    first, *others = _wirings(job, job.work.plain_strategy(job.cluster.servers), options)
    rows = sorted((first, *others), key=lambda row: list(DEGREE_SPLITS).index(row.rules.degree_split))
    times_s = tuple(row.time_s for row in rows)
    return [first], rows, SearchRecord(0, "fixed traffic", times_s, (), time.process_time() - began)


def wire_layouts(
    job: Job, options: SearchOptions, on_progress: Progress
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the first layout and the best wiring of every one, all simulated, and how it went.

    Ctrl-C ends with what was tried so far. Of a large job a layout is left out that could not be the fastest if
    communication were free; the record then has that time.
    """
    began = time.process_time()
    rows: list[Candidate] = []
    times_s: list[float] = []
    convergence: list[tuple[int, float]] = []
    strategies, because, wired = job.work.choices(job.cluster.servers), "every layout tried", 0
    for index, strategy in enumerate(strategies):
        on_progress("wiring for each layout", index, len(strategies))
        least_s = least_time_s(job, index)
        if convergence and least_s >= convergence[-1][1]:
            times_s.append(least_s)
            continue
        try:
            wirings = _wirings(job, strategy, options)
        except KeyboardInterrupt:
            if not rows:
                raise
            because = "interrupted"
            break
        wired += len(wirings)
        best = min(wirings, key=lambda row: row.time_s)
        rows.append(best)
        times_s.append(best.time_s)
        if not convergence or best.time_s < convergence[-1][1]:
            convergence.append((wired, best.time_s))
    cpu_s = time.process_time() - began
    return rows[:1], rows, SearchRecord(wired, because, tuple(times_s), tuple(convergence), cpu_s)


def _wirings(job: Job, strategy: ParallelStrategy, options: SearchOptions) -> list[Candidate]:
    """Return a strategy wired by every degree split, the one that was asked for first."""
    splits = dict.fromkeys((options.degree_split, *DEGREE_SPLITS))
    rules = [replace(options.rules, degree_split=split) for split in splits]
    return [wired_candidate(job, strategy, rule, options.seed) for rule in rules]
