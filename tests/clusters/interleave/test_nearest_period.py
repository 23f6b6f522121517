"""Two jobs that no rotation keeps apart: which iteration time does, by closed form and by trying."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters.interleave.jobs import LINK_BPS, on_off, vgg16
from topoopt.clusters.interleave import CommunicationProfile, Phase, interleave


def test_the_nearest_iteration_time_is_one_with_a_larger_common_divisor() -> None:
    answer = interleave([on_off(40, 10), on_off(62, 10)], LINK_BPS)
    assert answer.score < 1
    nearest = {each.job: each for each in answer.advice.nearest}
    # 62 = 2 · 31: no multiple of 31 or 62 near 40 but 31 itself; 60 = 3 · 20 is nearest to 62.
    assert nearest["62ms"].iteration_time_s == pytest.approx(0.060)
    assert nearest["40ms"].iteration_time_s == pytest.approx(0.031)
    told = " ".join(answer.advice.warnings)
    assert "jobs 40ms and 62ms: no rotation keeps them apart, iteration times have 2 ms in common" in told
    assert "nearest compatible iteration time: job 62ms at 60 ms, 2 ms shorter" in told


@given(st.integers(2, 20), st.integers(2, 20), st.data())
def test_no_nearer_iteration_time_would_do(first: int, second: int, data: st.DataObject) -> None:
    sends = data.draw(st.integers(1, first)), data.draw(st.integers(1, second))
    jobs = [on_off(first, sends[0]), replace(on_off(second, sends[1]), job="other")]
    answer = interleave(jobs, LINK_BPS, step_deg=360 / math.lcm(first, second))
    found = [each for each in answer.advice.nearest if each.numbers == (0, 1)]
    if answer.score == 1.0:
        assert not answer.advice.nearest
        return
    # The rule of the common divisor, tried for every iteration time that holds what the job sends.
    fits = [n for n in range(sends[0], 3 * 20) if sum(sends) <= math.gcd(n, second)]
    if not fits:
        if any(sum(sends) <= math.gcd(n, first) for n in range(sends[1], 3 * 20)):
            assert not found
        else:
            assert (
                found[0].iteration_time_s
                == found[0].other_iteration_time_s
                == pytest.approx(sum(sends) / 1e3)
            )
        return
    assert abs(found[0].change_s) == pytest.approx(min(abs(n - first) for n in fits) / 1e3)
    assert round(found[0].iteration_time_s * 1e3) in fits


def test_a_job_of_several_phases_waits_where_it_waits_longest() -> None:
    phases = (Phase(0.005, 0.010, LINK_BPS), Phase(0.025, 0.010, LINK_BPS))
    jobs = [CommunicationProfile("two", 0.062, phases), on_off(60, 10)]
    answer = interleave(jobs, LINK_BPS)
    assert answer.score < 1
    best = min(answer.advice.nearest, key=lambda each: abs(each.change_s))
    assert best.job == "two"
    assert best.iteration_time_s == pytest.approx(0.060)
    assert interleave([replace(jobs[0], iteration_time_s=0.060), jobs[1]], LINK_BPS).score == 1.0


def test_jobs_that_no_change_of_one_keeps_apart_fit_where_both_take_turns() -> None:
    answer = interleave([on_off(40, 30), on_off(40, 30)], LINK_BPS)
    assert [each.iteration_time_s for each in answer.advice.nearest] == pytest.approx([0.060, 0.060])
    assert [each.other_iteration_time_s for each in answer.advice.nearest] == pytest.approx([0.060, 0.060])
    assert answer.advice.warnings[1].endswith("nearest compatible iteration time: both at 60 ms")
    assert interleave([on_off(60, 30)] * 2, LINK_BPS).score == 1.0
    assert answer.score == pytest.approx(0.5, abs=0.02)
    assert "as turned, the jobs need a link of 100 Gb/s" in answer.advice.warnings[0]


def test_a_job_above_the_link_is_named() -> None:
    answer = interleave([on_off(40, 10, 0, 60e9), vgg16()], LINK_BPS)
    assert "job 40ms alone sends 60 Gb/s on a link of 50 Gb/s" in answer.advice.warnings
    assert not any("between two angles; give" in told for told in answer.advice.warnings)


def test_jobs_with_gaps_may_take_turns_in_them() -> None:
    phases = (Phase(0, 0.010, LINK_BPS), Phase(0.020, 0.010, LINK_BPS))
    jobs = [CommunicationProfile(name, 0.031, phases) for name in "ab"]
    answer = interleave(jobs, LINK_BPS)
    assert answer.score < 1
    # Each waits longer where it waits the longest, between its two phases; those then follow each other after 1 ms.
    assert [each.iteration_time_s for each in answer.advice.nearest] == pytest.approx([0.042, 0.042])
    then = tuple(Phase(start_s, 0.010, LINK_BPS) for start_s in (0, 0.011))
    assert (
        interleave([CommunicationProfile(name, 0.042, then) for name in "ab"], LINK_BPS, step_deg=2).score
        == 1.0
    )
    assert (
        interleave([CommunicationProfile(name, 0.041, then) for name in "ab"], LINK_BPS, step_deg=2).score < 1
    )


def test_advice_says_whether_rotation_helps_at_all() -> None:
    assert (
        interleave([on_off(40, 10), on_off(62, 10)], LINK_BPS)
        .advice.warnings[0]
        .startswith("rotation cannot help")
    )
    assert (
        interleave([on_off(40, 30)] * 2, LINK_BPS)
        .advice.warnings[0]
        .startswith("rotation is not enough: score 0.5")
    )


def test_three_jobs_of_which_every_two_fit_are_too_many() -> None:
    answer = interleave([on_off(60, 25)] * 3, LINK_BPS)
    assert answer.score < 1
    assert (
        "every two of the jobs fit together, but not all: put one on another link" in answer.advice.warnings
    )


def test_two_jobs_that_fit_only_between_angles_ask_for_a_smaller_step() -> None:
    jobs = [on_off(72, 35.5), on_off(72, 36.5)]
    answer = interleave(jobs, LINK_BPS)
    assert answer.score < 1
    assert (
        "the two fit together between two angles; give a step smaller than 5 degrees"
        in answer.advice.warnings
    )
    assert interleave(jobs, LINK_BPS, step_deg=2.5).score == 1.0


def test_a_phase_between_two_angles_is_a_warning_with_the_step_that_sees_it() -> None:
    jobs = [on_off(360, 2, 1), on_off(360, 100)]
    answer = interleave(jobs, LINK_BPS)
    assert answer.advice.warnings == (
        "job 360ms: a phase of 2 ms falls between two angles, which are 5 ms apart; give a step of 2 degrees",
    )
    assert interleave(jobs, LINK_BPS, step_deg=2).advice.warnings == ()


def test_what_is_true_of_two_jobs_of_one_name_is_said_once() -> None:
    twice = interleave([on_off(360, 2, 1), on_off(360, 2, 1)], LINK_BPS)
    assert len(twice.advice.warnings) == 1


def test_rounding_is_a_warning_with_the_iterations_after_which_it_matters() -> None:
    answer = interleave([on_off(40.4, 5), on_off(60, 5)], LINK_BPS)
    # 40.4 ms are taken as 40 ms, 1 % less: 5 % are reached after five iterations.
    assert answer.advice.warnings == (
        "job 40.4ms: 40.4 ms was taken as 40 ms: after 5 iterations jobs are off by 5% of one and to be shifted again",
    )
    exact = interleave([on_off(40.4, 5), on_off(60, 5)], LINK_BPS, quantum_s=1e-4)
    assert not any("taken as" in told for told in exact.advice.warnings)
    assert interleave([on_off(40.4, 5), on_off(40.4, 5)], LINK_BPS).advice.warnings == ()
