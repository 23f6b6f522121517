"""A job of the trace with its plans and its work, before it has servers."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.cluster.job_plans import JobPlan
from topoopt.cluster.trace import TraceJob


@dataclass(frozen=True, eq=False)
class Prepared:
    """A job of the trace, ready to run.

    Attributes
    ----------
    work : float
        Iterations to do, on as many servers as the trace asks for.
    plans : mapping from number of servers to JobPlan
        Of every size that it may have on this cluster.
    """

    job: TraceJob
    work: float
    plans: Mapping[int, JobPlan]

    @property
    def wish(self) -> int:
        """The servers that it asks for, or the most that the cluster has for it."""
        return max(size for size in self.plans if size <= max(self.job.servers, min(self.plans)))
