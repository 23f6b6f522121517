"""The best of all candidates once their routes are balanced, by which wirings that are nearly as fast change places."""

from collections.abc import Iterable
from functools import partial

from topoopt.base.workers import in_threads
from topoopt.jobs import Job
from topoopt.search.balance import balanced
from topoopt.search.candidate import Candidate
from topoopt.search.recommended import recommended
from topoopt.search.wiring_choice import MANY

NEAR = 1.02
"""Times the fastest, up to which a wiring may become it: balanced routes gain some percent."""
MOST_BALANCED = 3
"""Candidates whose routes are balanced; of many servers only the best, which takes seconds."""


def best_candidate(
    job: Job, candidates: Iterable[Candidate], *, balance: bool
) -> tuple[Candidate, list[Candidate]]:
    """Return the one that is recommended, and all that were looked at; of each wiring the fastest is balanced."""
    rows = list(candidates)
    best = recommended(job, rows)
    if not balance:
        return best, rows
    ranked = sorted((row for row in rows if row.time_s <= NEAR * best.time_s), key=lambda row: row.time_s)
    of_each = {row.rules.wiring: row for row in reversed([*ranked, best])}
    tried = [best, *(row for row in of_each.values() if row is not best)]
    tried = tried[: MOST_BALANCED if job.cluster.servers <= MANY else 1]
    alone = job.work.kind != "operators"  # pipelined steps keep what they have played, one at a time
    better = [balanced(job, row) for row in tried] if alone else in_threads(partial(balanced, job), tried)
    return recommended(job, better), [*rows, *better]
