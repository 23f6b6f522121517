"""Unified circles: perimeter, copies, angles, and what cannot be one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters.interleave.jobs import LINK_BPS, on_off, vgg16
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import UnifiedCircle, fitting_quantum_s, unified_circle


def test_40_and_60_ms_have_a_circle_of_120_ms_with_3_and_2_copies() -> None:
    circle = unified_circle([on_off(40, 10), on_off(60, 10)])
    assert circle.period_s == pytest.approx(0.120, rel=1e-12)
    assert circle.copies == (3, 2)
    assert circle.angles == 72
    assert circle.samples == (24, 36)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.floats(0.5, 120))
def test_angles_are_the_fewest_that_are_fine_enough_and_periodic_in_every_job(
    quanta: list[int], step: float
) -> None:
    circle = unified_circle([on_off(ms, ms / 2) for ms in quanta], step_deg=step)
    period = math.lcm(*quanta)
    every = math.lcm(*(period // each for each in quanta))
    assert circle.period_s == pytest.approx(period / 1e3)
    assert circle.angles % every == 0
    assert circle.angles * step >= 360 * (1 - 1e-9)
    assert circle.angles == every or (circle.angles - every) * step < 360
    for demand, samples in zip(circle.demands_bps, circle.samples, strict=True):
        np.testing.assert_array_equal(demand, np.roll(demand, samples))


def test_a_demand_is_sampled_at_the_angles() -> None:
    circle = unified_circle([vgg16()])
    sending = np.flatnonzero(circle.demands_bps[0]) * 5
    assert sending.tolist() == list(range(200, 360, 5))
    assert set(circle.demands_bps[0]) == {0.0, 45e9}


def test_a_job_is_turned_later() -> None:
    circle = unified_circle([on_off(120, 5), on_off(120, 10)])
    assert np.flatnonzero(circle.rotated_bps((6, 3)) > 0).tolist() == [3, 4, 5, 6, 7, 8]
    assert circle.rotated_bps((6, 3))[3:9].tolist() == [LINK_BPS] * 3 + [2 * LINK_BPS] * 3


def test_iteration_times_are_rounded_to_the_quantum() -> None:
    jobs = [on_off(40.4, 10), on_off(59.7, 10)]
    assert unified_circle(jobs).quanta == (40, 60)
    assert unified_circle(jobs, quantum_s=1e-4).quanta == (404, 597)


def test_times_that_all_round_alike_keep_their_pace() -> None:
    assert unified_circle([on_off(5.37, 2), on_off(5.37, 2)]).period_s == pytest.approx(0.00537, rel=1e-12)
    circle = unified_circle([on_off(10.2, 2), on_off(20.4, 2)])
    assert circle.iteration_times_s == pytest.approx((0.0102, 0.0204), rel=1e-12)
    assert unified_circle([on_off(40.4, 10), on_off(60, 10)]).period_s == pytest.approx(0.120, rel=1e-12)


def test_a_circle_that_would_be_too_long_names_the_job_and_a_quantum_that_fits() -> None:
    jobs = [on_off(997, 10), on_off(1009, 10), on_off(1013, 10)]
    with pytest.raises(InvalidInput) as caught:
        unified_circle(jobs)
    message = str(caught.value)
    assert message.startswith(
        "job 1009ms: its 1.009 s and the iteration times of 997ms have no common multiple up to 1000 s"
    )
    fits_s = fitting_quantum_s(jobs)
    assert message.endswith(f"quantum={fits_s * 1e3:g}ms")
    assert "\n" not in message
    assert isinstance(unified_circle(jobs, quantum_s=fits_s), UnifiedCircle)


@given(st.lists(st.integers(200, 2000), min_size=2, max_size=6))
def test_the_quantum_of_the_message_always_fits(times: list[int]) -> None:
    jobs = [on_off(ms, 1) for ms in times]
    fits_s = fitting_quantum_s(jobs)
    assert fits_s >= 1e-3
    unified_circle(jobs, quantum_s=fits_s)


@pytest.mark.parametrize("longest_ms", [1e6 * 3, 1e300])
def test_times_that_no_quantum_brings_together_belong_on_two_links(longest_ms: float) -> None:
    with pytest.raises(
        InvalidInput, match="have no common multiple up to 1000 s; put the job on another link"
    ):
        unified_circle([on_off(1.5, 1), on_off(longest_ms, 1)])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"step_deg": 0.0}, "step: expected degrees from 0.001 to 180, got 0"),
        ({"step_deg": float("nan")}, "step: expected degrees"),
        ({"quantum_s": 0.0}, "quantum: expected a time > 0"),
        (
            {"quantum_s": 1.0},
            "job 40ms: iteration time 40 ms is less than half of the quantum of 1 s; give a smaller",
        ),
    ],
)
def test_what_cannot_be_a_circle_is_one_line(words: dict[str, float], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        unified_circle([on_off(40, 10)], **words)


def test_no_job_is_no_circle() -> None:
    with pytest.raises(InvalidInput, match="jobs: none given"):
        unified_circle([])
