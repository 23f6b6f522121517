"""A pool that reads prompts: M/D/1, pipeline stages and tensor parallelism in closed form (DistServe, section 3.1)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.inference.queueing import prompt_wait_s

LOADS = st.floats(0, 0.99)


@given(st.floats(1e-3, 10), LOADS)
def test_waiting_is_that_of_a_queue_with_constant_service(duration: float, load: float) -> None:
    assert prompt_wait_s(load / duration, duration) == pytest.approx(load * duration / (2 * (1 - load)))


def test_at_a_load_of_four_fifths_a_prompt_waits_for_two_readings() -> None:
    assert prompt_wait_s(3.2, 0.25) == pytest.approx(0.5)


@given(st.floats(1e-3, 10), LOADS)
def test_two_stages_halve_the_slot(duration: float, load: float) -> None:
    rate = load / duration
    expected = rate * duration**2 / (4 * (2 - rate * duration))
    assert prompt_wait_s(rate, duration, 2) == pytest.approx(expected)


@given(st.floats(1e-3, 10), LOADS, st.floats(1, 2))
def test_tensor_parallelism_of_a_speed_up(duration: float, load: float, speed_up: float) -> None:
    rate = load * speed_up / duration
    expected = rate * duration**2 / (2 * speed_up * (speed_up - rate * duration))
    assert prompt_wait_s(rate, duration / speed_up) == pytest.approx(expected)


def test_more_prompts_than_are_read_wait_for_ever() -> None:
    assert prompt_wait_s(12, 0.1) == math.inf
