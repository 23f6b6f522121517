"""Which of several candidates becomes the plan: the fastest, unless a percent more leaves memory free."""

from collections.abc import Iterable

from topoopt.jobs import Job, TransformerWork
from topoopt.search.candidate import Candidate
from topoopt.transformers import weighed_s


def recommended(job: Job, candidates: Iterable[Candidate]) -> Candidate:
    """Return the fastest candidate, where one that leaves next to no memory free counts as a percent slower."""

    def weight(row: Candidate) -> float:
        if not isinstance(job.work, TransformerWork):
            return row.time_s
        needed = job.work.layout(row.strategy).total_memory_bytes
        return float(weighed_s(row.time_s, needed, job.work.capacity_bytes))

    return min(candidates, key=weight)
