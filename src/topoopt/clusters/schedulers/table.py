"""The table of schedulers: in order of arrival, Themis (auctions for fairness) and Pollux (goodput).

In Themis the jobs that are treated worst bid for free workers, with payments that make truthful bids optimal. The
finish-time fairness of a job is ρ: the time until it ends on the shared cluster over its time on the requested
workers with dedicated links. In each auction the part ``1 - FILTER`` of the jobs with the largest ρ takes part.
Workers are divided to maximize the product of valuations 1/ρ; each winner keeps the part by which the others do
not suffer (partial allocation mechanism), and leftover workers go one by one to the job with the largest ρ.

A bid is for a number of workers; where they are is decided after the auction, among placements that all have these
numbers. Themis lets jobs bid for sets of workers.

In Pollux workers go where they raise goodput, throughput times statistical efficiency, most. A job's speed-up is its
goodput on some workers over that on its fair share of all. The power mean of all speed-ups with exponent -1 is made
largest, exactly, since minus the sum of 1/speed-up is a sum over jobs. (Pollux searches over sets of workers with a
genetic algorithm; here a job's goodput is that with links of its own, a function of how many workers it has.)

References
----------
.. [1] K. Mahajan et al., "Themis: Fair and efficient GPU cluster scheduling", NSDI 2020, sections 3 and 4.
.. [2] R. Cole, V. Gkatzelis, G. Goel, "Mechanism design for fair division", EC 2013: partial allocation.
.. [3] A. Qiao et al., "Pollux: Co-adaptive cluster scheduling for goodput-optimized deep learning", OSDI 2021,
   sections 3 and 4.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from topoopt.clusters.schedulers.scheduler import Claim, Scheduler, best_division


def in_order(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return the workers of jobs that have none; see :class:`topoopt.clusters.schedulers.scheduler.Allocate`."""
    given = [0] * len(claims)
    for index, claim in enumerate(claims):
        if claim.held:
            continue
        if claim.workers > free:
            break
        given[index] = claim.workers
        free -= claim.workers
    return tuple(given)


def at_once(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return the workers that each job requests, regardless of the others: every job has its own cluster."""
    return tuple(0 if claim.held else claim.workers for claim in claims)


IDLE_SPEED_UP = 0.1
"""Speed-up assumed for a job without workers: a waiting job counts ten times as much as one on its fair share, so
that it is not left waiting for a small gain elsewhere. Our choice: the paper's mean is 0 as soon as one job waits.
"""


def pollux(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return each job's additional workers; see :class:`topoopt.clusters.schedulers.scheduler.Allocate`."""
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


FILTER = 0.8
"""The paper's f: the worst part 1 - f of the jobs bids."""


def themis(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return each job's additional workers; see :class:`topoopt.clusters.schedulers.scheduler.Allocate`."""
    given = [0] * len(claims)
    fairness = [finish_time_fairness(claim, 0, now_s, epoch_s) for claim in claims]
    hungry = [index for index, claim in enumerate(claims) if claim.choices(free)]
    by_need = sorted(hungry, key=lambda index: (-fairness[index], index))
    bidders = sorted(by_need[: math.ceil((1 - FILTER) * len(by_need) - 1e-9)])
    bids = [_bid(claims[index], free, now_s, epoch_s) for index in bidders]
    for index, count in zip(bidders, _auction(bids, free), strict=True):
        given[index] = count
    return _give_leftover(claims, given, free - sum(given), now_s, epoch_s)


def finish_time_fairness(claim: Claim, more: int, now_s: float, epoch_s: float) -> float:
    """Return ρ if a job gets ``more`` workers: its time to the end over its time alone.

    A job without workers is assumed to get its requested workers after an epoch.
    """
    workers = claim.held + more
    wait_s = 0.0 if workers else epoch_s
    left_s = claim.left / claim.progress_per_s(workers or claim.workers)
    return (now_s - claim.arrival_s + wait_s + left_s) / claim.dedicated_s


def _bid(claim: Claim, free: int, now_s: float, epoch_s: float) -> dict[int, float]:
    """Return the logarithm of 1/ρ for every number of workers that the job may get."""
    return {
        more: -math.log(finish_time_fairness(claim, more, now_s, epoch_s))
        for more in (0, *claim.choices(free))
    }


def _auction(bids: Sequence[Mapping[int, float]], free: int) -> list[int]:
    """Return the allocation of each bidder: its part of the fair division, less its payment."""
    won, total = best_division(bids, free)
    given = []
    for bidder, count in enumerate(won):
        without = best_division([bid for other, bid in enumerate(bids) if other != bidder], free)[1]
        kept = math.exp(total - bids[bidder][count] - without)
        affordable = [choice for choice in bids[bidder] if choice <= kept * count + 1e-9]
        given.append(max(affordable))
    return given


def _give_leftover(
    claims: Sequence[Claim], given: list[int], over: int, now_s: float, epoch_s: float
) -> tuple[int, ...]:
    """Assign leftover workers to the worst-treated job, one at a time, but first as many as it needs."""
    while True:
        steps = {
            index: max(claim.least - claim.held, 1) if not given[index] else 1
            for index, claim in enumerate(claims)
            if given[index] < claim.most - claim.held
        }
        fitting = [index for index, step in steps.items() if step <= over]
        if not fitting:
            return tuple(given)
        worst = max(
            fitting,
            key=lambda index: (finish_time_fairness(claims[index], given[index], now_s, epoch_s), -index),
        )
        given[worst] += steps[worst]
        over -= steps[worst]


SCHEDULERS: Mapping[str, Scheduler] = MappingProxyType(
    {
        "themis": Scheduler("finish-time fairness by partial auctions", themis, leases=True),
        "pollux": Scheduler("goodput: throughput times statistical efficiency", pollux, leases=True),
        "proximity": Scheduler("in order of arrival, workers near to each other", in_order),
        "random": Scheduler("in order of arrival, workers anywhere", in_order, near=False),
        "ideal": Scheduler("a cluster of its own for every job", at_once, dedicated=True),
    }
)
"""``themis`` and ``pollux`` resize elastic jobs; with the others every job has the workers that it requests."""
