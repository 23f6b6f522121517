"""The search for a traffic matrix: it is wired by each degree split; there is no strategy to search."""

import time
from dataclasses import replace

from topoopt.finder import DEGREE_SPLITS
from topoopt.job import Job
from topoopt.plan import SearchRecord
from topoopt.search.candidate import Candidate, wired_candidate
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress


def wire_traffic(
    job: Job, options: SearchOptions, on_progress: Progress
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the wiring that was asked for and those by each degree split, all simulated."""
    on_progress("wiring", 0, 0)
    began = time.process_time()
    nothing = job.work.plain_strategy(job.cluster.servers)
    starts, rows = (
        [
            wired_candidate(job, nothing, replace(options.rules, degree_split=split), options.seed)
            for split in splits
        ]
        for splits in ([options.degree_split], DEGREE_SPLITS)
    )
    times_s = tuple(row.time_s for row in rows)
    return starts, rows, SearchRecord(0, "fixed traffic", times_s, (), time.process_time() - began)
