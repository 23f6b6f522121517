"""Slots: proportions of rounded iteration times, none too short, and what they do against drift."""

from itertools import pairwise

import numpy as np
import pytest

from tests.clusters.interleave.test_shared_link import on_off
from topoopt.clusters.interleave import (
    Candidate,
    CommunicationProfile,
    JudgedPlacement,
    PeriodicJob,
    PeriodicRun,
    SharedLink,
    judge_placement,
    run_periodic_jobs,
)
from topoopt.clusters.scheduling.iterations import job_slots_s

FAST = 50e9


def jobs_of(*times_s: float, duty: float = 0.3) -> list[CommunicationProfile]:
    return [on_off(f"job {k}", 0.0, duty * time_s, FAST, time_s) for k, time_s in enumerate(times_s)]


def together(*times_s: float, duty: float = 0.3) -> JudgedPlacement:
    """A chain of jobs, each of which meets the next one on a link."""
    jobs = jobs_of(*times_s, duty=duty)
    links = [SharedLink(f"link {k}", FAST, pair) for k, pair in enumerate(pairwise(jobs))]
    return judge_placement(Candidate("chain", tuple(links)))


def test_slots_of_exact_times_are_the_iterations() -> None:
    assert list(job_slots_s(together(0.04, 0.06, 0.12, duty=0.15)).values()) == pytest.approx(
        [0.04, 0.06, 0.12]
    )


def test_slots_have_the_proportions_of_rounded_times_and_none_is_shorter_than_its_iteration() -> None:
    # 100, 201 and 100 quanta: the second job, 0.25 % longer than rounded, says how long a quantum has to be.
    placement = together(0.1004, 0.2005, 0.0999)
    slots_s = job_slots_s(placement)
    rounded = np.array([round(1000 * time_s) for time_s in placement.graph.iteration_times_s.values()])
    expected = rounded * max(0.1004 / 100, 0.2005 / rounded[1], 0.0999 / 100)
    assert list(slots_s.values()) == pytest.approx(expected.tolist())
    for job, time_s in placement.graph.iteration_times_s.items():
        assert slots_s[job] >= time_s * (1 - 1e-12)


def test_jobs_that_meet_nobody_or_whose_times_are_far_from_rounded_are_not_held() -> None:
    assert job_slots_s(together(0.0014, 0.001)) == {"job 0": 0.0, "job 1": 0.0}
    alone = judge_placement(Candidate("p", (SharedLink("x", FAST, (on_off("a", 0.0, 0.05),)),)))
    assert job_slots_s(alone) == {"a": 0.0}


def test_where_the_graph_has_a_loop_nobody_is_held() -> None:
    links = (
        SharedLink("x", FAST, (on_off("a", 0.0, 0.05), on_off("b", 0.0, 0.05))),
        SharedLink("y", FAST, (on_off("a", 0.0, 0.04), on_off("b", 0.0, 0.05))),
    )
    assert job_slots_s(judge_placement(Candidate("loop", links))) == {"a": 0.0, "b": 0.0}


def run(
    profiles: list[CommunicationProfile],
    placement: JudgedPlacement,
    noise: float,
    slots_s: dict[str, float],
    group: int | None = 0,
) -> PeriodicRun:
    shifts_s = placement.time_shifts_s
    jobs = [
        PeriodicJob(
            profile, begin_s=shifts_s[profile.job], noise=noise, slot_s=slots_s[profile.job], group=group
        )
        for profile in profiles
    ]
    return run_periodic_jobs(jobs, [FAST], iterations=2000, seed=1)


def times_s(result: PeriodicRun) -> float:
    """The mean time from start to start of an iteration, of all jobs."""
    return float(np.mean([job.period_s.mean() for job in result.jobs]))


def test_without_correction_noise_undoes_the_shifts_and_with_it_they_stay() -> None:
    # Measured: 127.0 ms without correction, 100.1 ms with it, of 100 ms alone.
    jobs = jobs_of(0.1, 0.1, duty=0.45)
    placement = together(0.1, 0.1, duty=0.45)
    nobody = dict.fromkeys(placement.time_shifts_s, 0.0)
    drifting, held = run(jobs, placement, 0.01, nobody), run(jobs, placement, 0.01, job_slots_s(placement))
    assert times_s(drifting) > 0.11
    assert times_s(held) < 0.1005
    assert all(0 < job.realignments < 100 for job in held.jobs)


def test_that_others_begin_later_costs_less_than_to_wait_for_a_slot() -> None:
    # Measured: 100.9 ms where each job waits for its own slots, most of an iteration whenever it is late.
    jobs = jobs_of(0.1, 0.1, duty=0.45)
    placement = together(0.1, 0.1, duty=0.45)
    slots_s = job_slots_s(placement)
    alone, group = (run(jobs, placement, 0.01, slots_s, of) for of in (None, 0))
    assert 0.1 <= times_s(group) < times_s(alone) - 0.0005


def test_jobs_that_do_not_fit_find_the_pace_at_which_they_do() -> None:
    # Each sends for 60 ms of 100 alone: the link is full at 120 ms.
    jobs = jobs_of(0.1, 0.1, duty=0.6)
    placement = together(0.1, 0.1, duty=0.6)
    assert placement.score == pytest.approx(0.8, abs=0.03)
    slots_s = job_slots_s(placement)
    assert times_s(run(jobs, placement, 0.01, slots_s)) == pytest.approx(0.12, rel=1e-3)
    assert times_s(run(jobs, placement, 0.01, slots_s, None)) == pytest.approx(0.2, rel=1e-3)


def test_without_noise_nobody_waits_and_with_rounded_times_only_as_long_as_slots_are_longer() -> None:
    exact = together(0.1, 0.2)
    steady = run(jobs_of(0.1, 0.2), exact, 0.0, job_slots_s(exact))
    assert [job.realignments for job in steady.jobs] == [0, 0]
    rounded = together(0.1003, 0.2001, duty=0.2)  # leeway is more than the tolerance
    slots_s = job_slots_s(rounded)
    assert [slots_s["job 0"], slots_s["job 1"]] == pytest.approx([0.1003, 0.2006])
    held = run(jobs_of(0.1003, 0.2001, duty=0.2), rounded, 0.0, slots_s)
    for job in held.jobs:
        assert job.time_s.max() == pytest.approx(job.alone_s)
        assert job.period_s.mean() == pytest.approx(slots_s[job.job], rel=2e-4)
