"""Rotations of one link: which quantum, what it gains, and the mean over all rotations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.interleave.test_shared_link import on_off, profiles
from topoopt.clusters.interleave import (
    CommunicationProfile,
    InterleavingRules,
    LinkRotation,
    Phase,
    compatibility_score,
    interleave,
    link_rotation,
    unaligned_score,
)

FAST = 50e9


def rotation_of(
    jobs: tuple[CommunicationProfile, ...], merging: str = "identical", solver: str = "auto"
) -> LinkRotation:
    found = link_rotation(jobs, FAST, InterleavingRules(solver=solver, merging=merging))
    assert found is not None
    return found


@settings(max_examples=30)
@given(profiles("a"), profiles("b"), st.sampled_from([20e9, 50e9]))
def test_the_unaligned_score_is_the_mean_over_all_rotations(
    one: CommunicationProfile, other: CommunicationProfile, capacity_bps: float
) -> None:
    times_s = (np.arange(100) + 0.5) / 1000
    here, there = one.demand_bps(times_s), other.demand_bps(times_s)
    scores = [compatibility_score(here + np.roll(there, turn), capacity_bps) for turn in range(100)]
    assert unaligned_score((one, other), capacity_bps) == pytest.approx(math.fsum(scores) / 100)


def test_of_three_jobs_two_meet_or_all_three() -> None:
    # Each on for a fifth: 3 * 0.04 * 0.8 of the time two at once, 0.008 of it three.
    jobs = [on_off(job, 0.0, 0.02) for job in "abc"]
    assert unaligned_score(jobs, FAST) == pytest.approx(1 - 3 * 0.2**2 * 0.8 - 2 * 0.2**3)


def test_exact_times_are_not_stretched_and_have_the_rotation_of_the_finest_quantum() -> None:
    jobs = on_off("a", 0.0, 0.01, period_s=0.04), on_off("b", 0.0, 0.01, period_s=0.06)
    rotation = rotation_of(jobs)
    known = interleave(jobs, FAST)
    assert rotation.quanta == (40, 60)
    assert rotation.stretch == pytest.approx(0.0)
    assert rotation.score == 1.0
    assert rotation.time_shifts_s == pytest.approx(known.time_shifts_s)
    assert rotation.unaligned_score == pytest.approx(1 - 1 / 4 * 1 / 6)
    assert rotation.helps


def test_a_coarser_quantum_is_taken_where_it_gains_more_than_it_stretches() -> None:
    # 255 and 260 ms are 26 times 10 ms, rounded: 2 % more for one of them, and nobody waits for the other.
    jobs = on_off("a", 0.0, 0.1, period_s=0.255), on_off("b", 0.0, 0.1, period_s=0.26)
    rotation = rotation_of(jobs)
    assert (rotation.quanta, rotation.score) == ((26, 26), 1.0)
    assert rotation.stretch == pytest.approx(260 / 255 - 1)
    strict = rotation_of(jobs, merging="strict")
    assert (strict.quanta, strict.quantum_s) == ((255, 260), 1e-3)
    assert strict.score < rotation.score - rotation.stretch


def test_many_jobs_are_turned_by_descent_unless_a_solver_is_named() -> None:
    jobs = tuple(on_off(job, 0.0, 0.019) for job in "abcde")
    assert rotation_of(jobs).score == 1.0
    assert rotation_of(jobs, solver="milp").score == 1.0


def test_times_below_the_quantum_have_a_finer_one() -> None:
    jobs = tuple(on_off(job, 0.0, 0.0002, period_s=0.0004) for job in "ab")
    assert rotation_of(jobs).score == 1.0


def test_without_a_circle_or_a_gain_there_is_no_rotation() -> None:
    # 4 ms beside nearly half a second: circles of thousands of copies, or stretches of more than 5 %.
    lengths_s = (0.004, 0.4553, 0.4631, 0.4787)
    jobs = tuple(on_off(f"{time_s}", 0.0, 0.5 * time_s, period_s=time_s) for time_s in lengths_s)
    assert link_rotation(jobs, FAST, InterleavingRules()) is None


def test_a_rotation_has_to_take_away_a_third_of_what_jobs_lose() -> None:
    # Same period, duty d: at best 2d - 1 of the time both send, on average d².
    for duty, helps in ((0.5, True), (0.6, True), (0.7, False), (1.0, False)):
        jobs = tuple(on_off(job, 0.0, 0.1 * duty) for job in "ab")
        found = link_rotation(jobs, FAST, InterleavingRules())
        assert ((2 * duty - 1) <= 2 / 3 * duty**2) is helps
        assert (found is not None) is helps
        assert link_rotation(jobs, FAST, InterleavingRules(merging="strict")) is not None


def test_every_iteration_has_the_angles_of_a_circle_however_many_copies_there_are() -> None:
    # 77 copies of 5 ms on one circle of 77 angles would be looked at once each, where they do not send.
    jobs = (
        CommunicationProfile("short", 0.005, (Phase(0.001, 0.004, FAST),)),
        on_off("long", 0.0, 0.3, period_s=0.385),
    )
    assert link_rotation(jobs, FAST, InterleavingRules()) is None
    strict = rotation_of(jobs, merging="strict")
    assert (strict.quanta, strict.score) == ((5, 385), 1.0)
    assert unaligned_score(jobs, FAST) < 0.4
