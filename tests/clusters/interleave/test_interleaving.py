"""Interleavings: the closed forms of two jobs, rotations and shifts, the keys of the document, mistakes."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters.interleave.jobs import LINK_BPS, on_off, vgg16
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    SOLVERS,
    CommunicationProfile,
    Phase,
    compatibility_score,
    interleave,
    unified_circle,
)


def test_40_and_60_ms_are_kept_apart_by_turning_either() -> None:
    short, long = on_off(40, 10), on_off(60, 10)
    for jobs in ([short, long], [long, short]):
        answer = interleave(jobs, LINK_BPS)
        assert answer.score == 1.0
        assert answer.unrotated_score == pytest.approx(11 / 12)
        assert answer.rotations_deg == (0.0, 30.0)
        assert answer.time_shifts_s == pytest.approx((0.0, 0.010))
        assert answer.demand.max() == LINK_BPS


def test_two_vgg16_fit_exactly_from_160_to_200_degrees_and_are_put_in_the_middle() -> None:
    circle = unified_circle([vgg16(), vgg16()])
    fits = [k * 5 for k in range(72) if compatibility_score(circle.rotated_bps((0, k)), LINK_BPS) == 1.0]
    assert fits == list(range(160, 201, 5))
    answer = interleave([vgg16(), vgg16()], LINK_BPS)
    assert answer.rotations_deg == (0.0, 180.0)
    assert answer.time_shifts_s == pytest.approx((0.0, 0.1275))
    assert answer.leeway_s == pytest.approx((0.255 * 20 / 360,) * 2)


@given(st.integers(1, 24), st.integers(1, 24), st.data())
def test_two_on_off_jobs_at_full_rate_fit_iff_both_send_no_longer_than_the_common_divisor(
    first: int, second: int, data: st.DataObject
) -> None:
    sends = data.draw(st.integers(1, first)), data.draw(st.integers(1, second))
    period = math.lcm(first, second)
    jobs = [on_off(first, sends[0]), on_off(second, sends[1])]
    answer = interleave(jobs, LINK_BPS, step_deg=min(360 / period, 180))  # an angle each ms, or more
    assert (answer.score == 1.0) == (sum(sends) <= math.gcd(first, second))


@given(st.integers(1, 72))
def test_two_jobs_of_one_period_and_duty_d_score_2_less_2_d(angles: int) -> None:
    answer = interleave([on_off(72, angles)] * 2, LINK_BPS)
    assert answer.score == pytest.approx(min(1, 2 - 2 * angles / 72), abs=1e-9)


def test_times_off_the_quantum_are_shifted_in_their_own_time_if_all_are_off_alike() -> None:
    answer = interleave([on_off(5.37, 2.6)] * 2, LINK_BPS)
    assert answer.score == 1.0
    assert answer.time_shifts_s[1] == pytest.approx(0.00537 / 2, rel=1e-9)
    assert answer.advice.warnings == ()


def test_one_job_stays_and_several_that_always_fit_do() -> None:
    alone = interleave([vgg16()], LINK_BPS)
    assert (alone.score, alone.rotations_deg, alone.leeway_s) == (1.0, (0.0,), (0.255 / 2,))
    answer = interleave([vgg16(), vgg16(), vgg16()], 3 * LINK_BPS)
    assert (answer.score, answer.time_shifts_s) == (1.0, (0.0, 0.0, 0.0))


def random_jobs(seed: int) -> list[CommunicationProfile]:
    """Return two to four jobs of several phases, rates and periods."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(rng.integers(2, 5)):
        period = int(rng.choice([20, 30, 40, 60]))
        edges = np.sort(rng.choice(period, 2 * int(rng.integers(1, 4)), replace=False))
        phases = tuple(
            Phase(start / 1e3, (end - start) / 1e3, float(rng.uniform(5e9, 50e9)))
            for start, end in edges.reshape(-1, 2).tolist()
        )
        jobs.append(CommunicationProfile(f"job {number}", period / 1e3, phases))
    return jobs


def brute_force(jobs: list[CommunicationProfile], capacity_bps: float, step_deg: float) -> float:
    """Return the best score of all shifts of all jobs, the demands summed at the times themselves."""
    periods_ms = [round(job.iteration_time_s * 1e3) for job in jobs]
    period_ms = math.lcm(*periods_ms)
    every = math.lcm(*(period_ms // each for each in periods_ms))
    angles = every * math.ceil(360 / step_deg / every - 1e-9)
    times_s = np.arange(angles) * period_ms / angles / 1e3
    turns = [range(angles * each // period_ms) for each in periods_ms]
    best = -math.inf
    for shifts in product(*turns[:-1]):
        fixed = sum(
            job.demand_bps(np.array(times_s - shift * period_ms / angles / 1e3 + 1e-9))
            for job, shift in zip(jobs[:-1], shifts, strict=True)
        )
        last = jobs[-1].demand_bps(np.array(times_s + 1e-9))
        total = np.array([fixed + np.roll(last, shift) for shift in turns[-1]])
        best = max(best, 1 - np.maximum(total - capacity_bps, 0).sum(axis=1).min() / angles / capacity_bps)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_exact_solvers_agree_with_each_other_and_with_brute_force_on_random_jobs(seed: int) -> None:
    jobs = random_jobs(seed)
    step = 10.0 if len(jobs) < 4 else 30.0
    exact = brute_force(jobs, LINK_BPS, step)
    for solver in SOLVERS:
        if solver == "fft" and len(jobs) > 2:
            continue
        answer = interleave(jobs, LINK_BPS, step_deg=step, solver=solver)
        if solver == "descent":
            assert exact - 0.02 <= answer.score <= exact + 1e-9
        else:
            assert answer.score == pytest.approx(exact, abs=1e-9), solver
        assert answer.solver == solver


@pytest.mark.parametrize("seed", range(6))
def test_the_demand_of_an_answer_is_that_of_jobs_that_begin_later_by_the_shifts(seed: int) -> None:
    jobs = random_jobs(seed)
    answer = interleave(jobs, LINK_BPS)
    times_s = np.arange(answer.angles) * answer.period_s / answer.angles + 1e-9
    total = sum(
        job.demand_bps(np.array(times_s - shift_s))
        for job, shift_s in zip(jobs, answer.time_shifts_s, strict=True)
    )
    np.testing.assert_allclose(answer.demand, total, rtol=1e-9)
    assert answer.score >= answer.unrotated_score
    for degrees, copies, shift_s, job in zip(
        answer.rotations_deg, answer.circle.copies, answer.time_shifts_s, jobs, strict=True
    ):
        assert 0 <= degrees < 360 / copies
        assert shift_s == pytest.approx(degrees / 360 * answer.period_s % job.iteration_time_s)


@pytest.mark.parametrize("seed", range(6))
def test_within_its_leeway_each_job_may_be_early_or_late(seed: int) -> None:
    jobs = random_jobs(seed)
    answer = interleave(jobs, LINK_BPS)
    for job, leeway_s in enumerate(answer.leeway_s):
        leeway = round(leeway_s / answer.circle.angle_s)
        for late in range(-leeway, leeway + 1):
            shifts = [shift + late * (job == other) for other, shift in enumerate(answer.shifts)]
            late_score = compatibility_score(answer.circle.rotated_bps(shifts), LINK_BPS)
            assert late_score == pytest.approx(answer.score, abs=1e-9)


def test_the_document_has_the_keys_that_are_promised() -> None:
    document = interleave([on_off(40, 10), on_off(60, 10)], LINK_BPS).to_json()
    assert list(document)[:5] == ["score", "unrotated_score", "rotations_deg", "time_shifts_s", "demand"]
    assert document["score"] == 1.0
    assert document["rotations_deg"] == [0.0, 30.0]
    assert len(document["demand"]) == document["angles"] == 72
    assert document["warnings"] == document["nearest"] == []
    assert [job["copies"] for job in document["jobs"]] == [3, 2]


def test_the_frame_has_a_row_for_each_job() -> None:
    jobs = interleave([on_off(40, 10), on_off(60, 10)], LINK_BPS).to_frame()
    assert jobs["rotation_deg"].tolist() == [0.0, 30.0]
    assert jobs["job"].tolist() == ["40ms", "60ms"]


@pytest.mark.parametrize("capacity_bps", [0.0, -1.0, float("nan"), float("inf")])
def test_a_capacity_that_cannot_be_is_one_line(capacity_bps: float) -> None:
    with pytest.raises(
        InvalidInput,
        match=r"capacity: expected a finite rate > 0, got .*; give that of the link of job vgg16, such as",
    ):
        interleave([vgg16()], capacity_bps)


def test_rates_with_which_no_arithmetic_can_be_done_are_one_line() -> None:
    with pytest.raises(
        InvalidInput, match=r"job 40ms: bandwidth: expected a number up to 1e\+30, got 1e\+300"
    ):
        interleave([on_off(40, 10, 0, 1e300)], LINK_BPS)
    with pytest.raises(InvalidInput, match="capacity: expected 0 or a number from 1e-30 on"):
        interleave([vgg16()], 1e-300)


def test_an_unknown_solver_is_named_with_the_known() -> None:
    with pytest.raises(InvalidInput, match="did you mean grid"):
        interleave([vgg16()], LINK_BPS, solver="gird")
    # Also where the circle would be refused: it is not made.
    with pytest.raises(InvalidInput, match="did you mean grid"):
        interleave([on_off(997, 60), on_off(1009, 60), on_off(1013, 60)], LINK_BPS, solver="gird")
