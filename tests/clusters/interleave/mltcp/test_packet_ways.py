"""Ways of sharing a link packet by packet, beside the theory: MLTCP parts two jobs, Reno never does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    PACKET_WAYS,
    SharingComparison,
    SharingQuestion,
    compare_packet_ways,
    equal_jobs,
    iterations_to_converge,
)
from topoopt.simulation import DECREASING, TRANSPORTS, Aggressiveness

PERIOD_S = 0.1


def question(part: float, iterations: int, gbps: float = 50, **more: Any) -> SharingQuestion:
    asked = equal_jobs((part, part), PERIOD_S, gbps * 1e9)
    return replace(asked, iterations=iterations, **more)


@pytest.fixture(scope="module")
def forty() -> SharingComparison:
    """Both jobs send for 0.4 of their period, at 50 Gb/s."""
    return compare_packet_ways(question(0.4, 20), ("mltcp-reno", "reno", "cassini", "ideal"))


def test_mltcp_goes_the_way_of_the_recursion(forty: SharingComparison) -> None:
    """Spec: x0 = 0.05 gives iterations of 1.2815, 1.0916, 1.0143, 1.0019, 1.0003 of the first job."""
    times = forty.courses[0].jobs[0].time_s / PERIOD_S
    assert times[:5] == pytest.approx([1.2815, 1.0916, 1.0143, 1.0019, 1.0003], abs=0.03)
    assert times[5:] == pytest.approx(1.0, abs=2e-3)
    offsets = forty.courses[0].jobs[1].offset_s / (0.4 * PERIOD_S)
    assert offsets[:4] == pytest.approx([0.05, 0.2963, 0.7711, 0.9642], abs=0.06)
    theory = iterations_to_converge(0.05, Aggressiveness(), within=0.05)
    assert theory is not None
    assert abs(int(np.argmax(offsets >= 0.95)) - theory) <= 3


def test_fair_shares_stay_and_the_best_is_to_be_alone(forty: SharingComparison) -> None:
    slowdowns = {course.way: course.slowdown(forty.alone_s) for course in forty.courses}
    assert slowdowns["reno"] > 1.3
    assert slowdowns["cassini"] == pytest.approx(slowdowns["ideal"], rel=1e-3)
    assert slowdowns["mltcp-reno"] == pytest.approx(slowdowns["ideal"], rel=5e-3)
    marks = {course.way: course.ecn_marks for course in forty.courses}
    assert marks["ideal"] <= marks["mltcp-reno"] < marks["reno"]


def test_jobs_that_do_not_fit_settle_where_the_theory_says() -> None:
    answer = compare_packet_ways(question(0.6, 20), ("mltcp-reno", "reno"))
    assert answer.prediction is not None
    settled = answer.prediction.settled_iteration_time_s / PERIOD_S
    assert settled == pytest.approx(1.2)
    slowdowns = [course.slowdown(answer.alone_s) for course in answer.courses]
    assert slowdowns[0] == pytest.approx(settled, abs=0.02)
    assert slowdowns[1] > 1.5


def test_a_decreasing_form_locks_them_in_overlap() -> None:
    asked = question(0.4, 20, gbps=10, offset=0.5, aggressiveness=DECREASING)
    answer = compare_packet_ways(asked, ("mltcp-reno",))
    assert answer.courses[0].slowdown(answer.alone_s) == pytest.approx(1.4, abs=0.04)


def test_learning_takes_the_first_iterations() -> None:
    answer = compare_packet_ways(question(0.4, 20, learning_iterations=1), ("mltcp-reno",))
    times = answer.courses[0].jobs[0].time_s / PERIOD_S
    assert (times[:3] > 1.3).all()
    assert times[-5:] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("way", PACKET_WAYS)
def test_every_way_is_as_long_as_a_job_alone_at_least(way: str) -> None:
    answer = compare_packet_ways(question(0.3, 3, gbps=10), (way,))
    assert (answer.courses[0].time_s >= PERIOD_S * (1 - 1e-9)).all()


def test_ways_that_are_none_are_named() -> None:
    assert set(TRANSPORTS) < set(PACKET_WAYS)
    with pytest.raises(InvalidInput, match='way: unknown name "mltcp"; did you mean mltcp-reno'):
        compare_packet_ways(question(0.4, 2), ("mltcp",))
