"""The theory of two jobs under MLTCP: the numbers of the specification, and what follows from one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    iterations_to_converge,
    loss,
    next_offset,
    offsets,
    overlapped_iteration_time_s,
    settled_iteration_time_s,
    shift_s,
)
from topoopt.simulation import DECREASING, FAIR, Aggressiveness

F = Aggressiveness()


def test_the_recursion_from_a_hundredth() -> None:
    np.testing.assert_allclose(offsets(0.01, 6, F), [0.01, 0.0748, 0.3926, 0.8380, 0.9764, 0.9970], atol=5e-5)


@given(st.floats(0.001, 0.999))
def test_the_odds_grow_eightfold_each_iteration(offset: float) -> None:
    after = next_offset(offset, F)
    assert after / (1 - after) == pytest.approx(8 * offset / (1 - offset), rel=1e-9)


@given(st.floats(0.0, 1.0), st.floats(0.01, 10.0), st.floats(0.1, 5.0), st.floats(0.05, 2.0))
def test_the_shift_is_the_closed_form(
    part: float, communication_s: float, slope: float, intercept: float
) -> None:
    delta, form = part * communication_s, Aggressiveness(slope, intercept)
    closed = slope * delta * (communication_s - delta) / (communication_s * intercept + slope * delta)
    assert shift_s(delta, communication_s, form) == pytest.approx(
        closed, rel=1e-9, abs=1e-12 * communication_s
    )


@pytest.mark.parametrize("offset", [0.0, 0.03, 0.4, 0.9, 1.0])
def test_a_form_without_a_closed_integral_follows_the_same_law(offset: float) -> None:
    """1 / F of the reciprocal form is 4 - 3.5 b: 4 y - 1.75 y² = (4 - 1.75) - (4 x - 1.75 x²), solved for y."""
    form = Aggressiveness(form="reciprocal")
    rest = 2.25 - (4 * offset - 1.75 * offset**2)
    y = (4 - np.sqrt(16 - 7 * rest)) / 3.5
    assert next_offset(offset, form) == pytest.approx(1 - y, abs=1e-6)


def test_increasing_forms_part_jobs_and_decreasing_ones_lock_them_in_overlap() -> None:
    for form in ("linear", "quadratic", "reciprocal"):
        assert offsets(0.05, 40, Aggressiveness(form=form))[-1] > 0.99
    assert offsets(0.95, 40, DECREASING)[-1] < 1e-3
    np.testing.assert_allclose(offsets(0.3, 10, FAIR), 0.3)


def test_full_overlap_and_interleaving_are_fixed_points() -> None:
    assert next_offset(0.0, F) == 0.0
    assert next_offset(1.0, F) == 1.0


@pytest.mark.parametrize("first", [0.001, 0.01, 0.05, 0.3, 0.9])
def test_the_iterations_to_converge_are_those_of_the_recursion(first: float) -> None:
    count = iterations_to_converge(first, F)
    assert count is not None
    row = offsets(first, count + 1, F)
    assert row[-1] >= 0.99 - 1e-12
    assert count == 0 or row[-2] < 0.99


def test_who_never_converges_is_told() -> None:
    assert iterations_to_converge(0.0, F) is None
    assert iterations_to_converge(0.5, FAIR) is None
    assert iterations_to_converge(0.5, DECREASING) is None
    assert iterations_to_converge(0.995, DECREASING) == 0


def test_a_form_without_a_closed_integral_converges_by_iterating() -> None:
    form = Aggressiveness(form="quadratic")
    count = iterations_to_converge(0.05, form)
    assert count is not None
    assert offsets(0.05, count + 1, form)[-1] >= 0.99 > offsets(0.05, count, form)[-1]


@given(st.floats(0.05, 0.95), st.floats(0.1, 1.0))
def test_the_slope_of_the_loss_is_minus_the_shift(part: float, communication_s: float) -> None:
    delta, step = part * communication_s, 1e-5 * communication_s
    before, after = loss(np.array([delta - step, delta + step]), communication_s, F)
    assert (after - before) / (2 * step) == pytest.approx(-shift_s(delta, communication_s, F), rel=1e-4)


def test_the_loss_is_the_formula_and_least_where_jobs_are_interleaved() -> None:
    delta, a, k = np.linspace(0.0, 0.4, 41), 0.4, 0.4 * 0.25 / 1.75
    landscape = loss(delta, a, F)
    np.testing.assert_allclose(
        landscape, delta**2 / 2 - (a + k) * delta + k * (a + k) * np.log(1 + delta / k)
    )
    assert landscape.argmin() == 40


def test_the_loss_of_a_form_that_it_is_not_known_for_is_refused() -> None:
    for form in (FAIR, Aggressiveness(form="quadratic")):
        with pytest.raises(InvalidInput, match="linear forms"):
            loss(np.array([0.1]), 0.4, form)


def test_where_jobs_settle() -> None:
    assert settled_iteration_time_s(1.0, np.array([0.4, 0.4])) == 1.0
    assert settled_iteration_time_s(1.0, np.array([0.6, 0.6])) == pytest.approx(1.2)
    assert overlapped_iteration_time_s(1.0, 0.4, 0.05) == pytest.approx(1.38)


@pytest.mark.parametrize("offset", [-0.1, 1.1, float("nan")])
def test_offsets_beyond_the_communication_are_refused(offset: float) -> None:
    with pytest.raises(InvalidInput, match="within the communication"):
        next_offset(offset, F)
    with pytest.raises(InvalidInput, match="within the communication"):
        shift_s(offset, 1.0, F)


def test_a_part_that_may_overlap_is_a_part() -> None:
    with pytest.raises(InvalidInput, match="within 1"):
        iterations_to_converge(0.1, F, within=1.0)
