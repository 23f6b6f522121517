"""The search for a transformer: every layout on a network wired for it, and which of them trains fastest.

The closed form that ranked the layouts knows one bandwidth for all groups. Here each layout gets links, rings and
routes of its own and is simulated on them, so that a layout that wires well can overtake one that ranks well.
"""

import time
from dataclasses import replace

from topoopt.finder import DEGREE_SPLITS
from topoopt.job import Job
from topoopt.plan import SearchRecord
from topoopt.search.candidate import Candidate, wired_candidate
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress
from topoopt.strategy import ParallelStrategy


def wire_layouts(
    job: Job, options: SearchOptions, on_progress: Progress
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the first layout and the best wiring of every one, all simulated, and how it went.

    Each layout is wired by every degree split, the one asked for first. Ctrl-C ends with what was tried so far.
    """
    began = time.process_time()
    rows: list[Candidate] = []
    convergence: list[tuple[int, float]] = []
    strategies, because, wired = job.work.choices(job.cluster.servers), "every layout tried", 0
    splits = tuple(dict.fromkeys((options.degree_split, *DEGREE_SPLITS)))
    for index, strategy in enumerate(strategies):
        on_progress("wiring for each layout", index, len(strategies))
        try:
            best = _best_wiring(job, strategy, options, splits)
        except KeyboardInterrupt:
            if not rows:
                raise
            because = "interrupted"
            break
        wired += len(splits)
        rows.append(best)
        if not convergence or best.time_s < convergence[-1][1]:
            convergence.append((wired, best.time_s))
    times_s = tuple(row.time_s for row in rows)
    cpu_s = time.process_time() - began
    return rows[:1], rows, SearchRecord(wired, because, times_s, tuple(convergence), cpu_s)


def _best_wiring(
    job: Job, strategy: ParallelStrategy, options: SearchOptions, splits: tuple[str, ...]
) -> Candidate:
    candidates = [
        wired_candidate(job, strategy, replace(options.rules, degree_split=split), options.seed)
        for split in splits
    ]
    return min(candidates, key=lambda row: row.time_s)
