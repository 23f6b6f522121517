"""A pool that reads prompts: M/D/1, pipeline stages and tensor parallelism in closed form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.inference.queueing import pipelined_s, single_s

LOADS = st.floats(0, 0.99)


@given(st.floats(1e-3, 10), LOADS)
def test_waiting_is_that_of_a_queue_with_constant_service(duration: float, load: float) -> None:
    expected = duration + load * duration / (2 * (1 - load))
    assert single_s(duration, load / duration) == pytest.approx(expected)


def test_at_a_load_of_four_fifths_the_first_token_takes_three_readings() -> None:
    assert single_s(0.25, 3.2) == pytest.approx(0.75)


@given(st.floats(1e-3, 10), LOADS)
def test_two_stages_halve_the_slot_and_not_the_reading(duration: float, load: float) -> None:
    rate = load / duration
    expected = duration + rate * duration**2 / (4 * (2 - rate * duration))
    assert pipelined_s(duration, rate) == pytest.approx(expected)


@given(st.floats(1e-3, 10), LOADS, st.floats(1, 2))
def test_tensor_parallelism_of_a_speed_up(duration: float, load: float, speed_up: float) -> None:
    rate = load * speed_up / duration
    expected = duration / speed_up + rate * duration**2 / (2 * speed_up * (speed_up - rate * duration))
    assert single_s(duration / speed_up, rate) == pytest.approx(expected)


def test_more_prompts_than_are_read_are_refused_with_the_largest_rate() -> None:
    with pytest.raises(InvalidInput, match="stable below 10 a second"):
        single_s(0.1, 12)
