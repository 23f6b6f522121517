"""Pollux: workers go where they raise goodput, throughput times statistical efficiency, most.

A job's speed-up is its goodput on some workers over that on its fair share of all. The power mean of all speed-ups
with exponent -1 is made largest, exactly, since minus the sum of 1/speed-up is a sum over jobs. (Pollux searches over
sets of workers with a genetic algorithm; here a job's goodput is that with links of its own, a function of how many
workers it has.)

References
----------
.. [1] A. Qiao et al., "Pollux: Co-adaptive cluster scheduling for goodput-optimized deep learning", OSDI 2021,
   sections 3 and 4.
"""

from collections.abc import Sequence

from topoopt.clusters.schedulers.scheduler import Claim, best_division

IDLE_SPEED_UP = 0.1
"""Of a job without workers: one that waits is worth ten times what one on its fair share is, so it is not left to wait
for a small gain elsewhere. Ours: the paper's mean is 0 as soon as one job waits."""


def pollux(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return how many workers more each job gets; see :class:`topoopt.clusters.schedulers.scheduler.Allocate`."""
    if not claims:
        return ()
    everybody = free + sum(claim.held for claim in claims)
    share = max(everybody // len(claims), 1)
    costs = [
        {more: -1.0 / speed_up(claim, claim.held + more, share) for more in (0, *claim.choices(free))}
        for claim in claims
    ]
    return best_division(costs, free)[0]


def speed_up(claim: Claim, workers: int, share: int) -> float:
    """Return the goodput of a job on some workers over that on its fair share."""
    if not workers:
        return IDLE_SPEED_UP
    fair = min(max(share, claim.least), claim.most)
    return claim.progress_per_s(workers) / claim.progress_per_s(fair)
