"""What a plan costs to own and to train on, beside the other fabrics."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from topoopt.jobs import Job
from topoopt.plans.plan import Plan
from topoopt.pricing import Iteration, NetworkPrice, Ownership, beside, in_samples, ownership


class PricedTime(NamedTuple):
    """A network that is priced, and an iteration there."""

    cost_usd: float | None
    power_w: float | None
    iteration_time_s: float


def iteration_of(job: Job, time_s: float) -> Iteration:
    """Return an iteration of a job that takes so long."""
    return Iteration(time_s, job.global_batch, job.work.tokens())


def iterations_by_fabric(plan: Plan) -> dict[str, Iteration]:
    """Return iterations on the plan's own fabric, and on those baselines that have the bandwidth of its ports."""
    whole_bps = plan.job.cluster.server_bandwidth_bps
    alike = {row.fabric: row.outcome for row in plan.baselines if row.server_bandwidth_bps == whole_bps}
    times = {**alike, plan.fabric.name: plan.outcome}
    return {name: iteration_of(plan.job, one.iteration_time_s) for name, one in times.items()}


def ownerships(plan: Plan, fabrics: Sequence[PricedTime]) -> tuple[Ownership | None, ...]:
    """Return what network, servers and electricity cost together on fabrics, the plan's own first.

    All are priced for one training: where a run is given by its hours, these are those on the first fabric. None of
    a plan that was made before ownership was priced.

    Raises
    ------
    InvalidInput
        If the run is given in tokens and the job has none.
    """
    if plan.terms is None or not fabrics:
        return (None,) * len(fabrics)
    job, first_s = plan.job, fabrics[0].iteration_time_s
    terms = replace(plan.terms, run=in_samples(plan.terms.run, iteration_of(job, first_s)))
    own, *others = (
        ownership(
            terms,
            job.cluster.servers,
            NetworkPrice(row.cost_usd, row.power_w),
            iteration_of(job, row.iteration_time_s),
        )
        for row in fabrics
    )
    times_s = (row.iteration_time_s for row in fabrics[1:])
    return (own, *(beside(own, first_s, other, s) for other, s in zip(others, times_s, strict=True)))
