"""The noun TrainedJob: a job of the mix on the network that is taken, and what a sample and a token cost there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.pricing import Iteration, Ownership
from topoopt.studies.choice.evaluated import Evaluated
from topoopt.studies.choice.machines import Machines
from topoopt.studies.choice.mix import JobShare, Mix
from topoopt.studies.choice.pricing import Owner


@dataclass(frozen=True, slots=True)
class TrainedJob:
    """A job, how long its iterations take, and what its servers and their share of the network cost.

    Attributes
    ----------
    reference_time_s : float
        Of an iteration on the reference network.
    """

    job: JobShare
    servers: int
    iteration: Iteration
    reference_time_s: float
    owned: Ownership

    def to_json(self) -> dict[str, Any]:
        """Return the job as a mapping; dollars are None where a price is not known, or nothing is trained."""
        owned = self.owned
        return {
            "job": self.job.job,
            "share": self.job.share,
            "servers": self.servers,
            "iteration_time_s": self.iteration.time_s,
            "reference_time_s": self.reference_time_s,
            "samples": self.iteration.samples,
            "tokens": self.iteration.tokens,
            "usd_per_hour": owned.usd_per_hour,
            "usd_per_sample": owned.usd_per_sample,
            "usd_per_token": owned.usd_per_token,
            "usd_per_run": owned.usd_per_run,
            "run_hours": owned.run_hours,
        }


def trained_jobs(
    mix: Mix,
    point: Evaluated,
    sizes: Sequence[tuple[float, float | None]],
    reference_times_s: Sequence[float],
    machines: Machines,
    owner: Owner,
) -> tuple[TrainedJob, ...]:
    """Return the jobs on a network.

    Parameters
    ----------
    sizes
        Samples of an iteration of each job, and tokens where it has some.

    Raises
    ------
    InvalidInput
        If a run is given in tokens, and the job has none.
    """
    assert point.money is not None
    found = []
    for job, time_s, size, reference_s in zip(mix, point.times_s, sizes, reference_times_s, strict=True):
        servers, iteration = machines.of(job), Iteration(time_s, *size)
        found.append(
            TrainedJob(job, servers, iteration, reference_s, owner.owned(point.money, iteration, servers))
        )
    return tuple(found)
