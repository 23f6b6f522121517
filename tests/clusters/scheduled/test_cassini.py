"""CASSINI in the course of single workers: which placement, which shifts, and what it does for iteration times."""

import numpy as np
import pytest

from tests.clusters.scheduled.hand_made import LINK_BPS, ring_job, ring_jobs
from topoopt.base.arrays import Floats
from topoopt.clusters.interleave import InterleavingRules
from topoopt.clusters.scheduling.model_workers import PlacedWorkers
from topoopt.clusters.scheduling.network import ScheduleSettings, WorkerNetwork, cassini_24
from topoopt.clusters.scheduling.run import ScheduledCourse, cassini, run_scheduled
from topoopt.clusters.trace import Trace, TraceJob

NETWORK = cassini_24()
CAPACITIES_BPS = NETWORK.capacities_bps


def placed(
    name: str, *links: int, duty: float = 0.5, share: float = 1.0, iteration_time_s: float = 0.2
) -> PlacedWorkers:
    profile = ring_job(name, 2, iteration_time_s=iteration_time_s, duty=duty).profile
    shares: Floats = np.full(len(links), share)
    return PlacedWorkers(name, (0, 1), profile, np.array(links, np.int64), shares)


def test_jobs_of_one_link_are_put_half_an_iteration_apart_and_others_are_in_no_group() -> None:
    placement = (placed("a", 1, 2), placed("b", 2, 3), placed("c", 4), placed("d"))
    choice = cassini(NETWORK)([placement], CAPACITIES_BPS)
    assert choice.time_shifts_s == pytest.approx((0.0, 0.1, 0.0, 0.0))
    assert choice.periods_s == pytest.approx((0.2, 0.2, 0.0, 0.0))
    assert choice.groups == ((0, 1),)
    assert choice.score == 1.0


def test_the_placement_whose_links_fit_is_taken() -> None:
    full = (placed("a", 1, duty=0.6), placed("b", 1, duty=0.6), placed("c", 2, duty=0.3))
    fits = (placed("a", 1, duty=0.6), placed("b", 2, duty=0.6), placed("c", 1, duty=0.3))
    choice = cassini(NETWORK)([full, fits], CAPACITIES_BPS)
    assert (choice.candidate, choice.score, choice.groups) == (1, 1.0, ((0, 2),))


def test_what_counts_is_the_share_of_a_link() -> None:
    placement = (placed("a", 1, share=0.5), placed("b", 1, share=0.5))
    choice = cassini(NETWORK)([placement], CAPACITIES_BPS)
    assert (choice.score, choice.groups, choice.periods_s) == (1.0, (), (0.0, 0.0))


def test_where_shifts_cannot_agree_nobody_is_shifted() -> None:
    # a and b meet on two links of other demands: a sends twice as much on one of them as b, and here half of it.
    a, b = placed("a", 1, 2, duty=0.3), placed("b", 1, 2, duty=0.3)
    other = PlacedWorkers("b", b.servers, b.profile, b.links, np.array([1.0, 0.75]))
    choice = cassini(NETWORK)([(a, other)], CAPACITIES_BPS)
    assert (choice.groups, choice.periods_s) == ((), (0.0, 0.0))
    alike = cassini(NETWORK)([(a, b)], CAPACITIES_BPS)
    assert alike.groups == ((0, 1),)
    strict = cassini(NETWORK, InterleavingRules(merging="strict"))([(a, b)], CAPACITIES_BPS)
    assert strict.groups == ()


def test_every_link_of_the_network_has_its_cable() -> None:
    cables = cassini(NETWORK).cables
    assert len(cables) == 96
    assert len(set(cables)) == 48
    assert all(cables.count(cable) == 2 for cable in set(cables))


def run(network: WorkerNetwork, duty: float, with_cassini: bool) -> ScheduledCourse:
    jobs = tuple(TraceJob(str(n), "m", 6, 0.0, iterations=300) for n in range(3))
    settings = ScheduleSettings("proximity", staggered=False, cassini=with_cassini)
    chooses = (cassini(network),) if with_cassini else ()
    return run_scheduled(Trace("t", jobs), network, ring_jobs(duty=duty), settings, chooses)


def test_jobs_that_collide_on_uplinks_run_as_if_alone() -> None:
    """Of twenty draws of paths, in those where jobs hold each other up."""
    collided = 0
    for network in map(cassini_24, range(20)):
        plain, shifted = run(network, 0.33, False), run(network, 0.33, True)
        if max(job.mean_s for job in plain.ended) > 0.21:
            collided += 1
            assert [job.mean_s for job in shifted.ended] == pytest.approx(
                [0.2] * 3, rel=2e-3
            )  # a wait of 0.1 s, once in 300
            assert sum(job.marks for job in shifted.ended) < 0.01 * sum(job.marks for job in plain.ended)
    assert collided >= 5


def test_rates_are_those_of_the_links() -> None:
    assert set(CAPACITIES_BPS.tolist()) == {LINK_BPS}
