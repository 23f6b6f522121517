"""MLTCP's F: its values, its forms, and what cannot be one."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.simulation import DECREASING, FAIR, FORMS, Aggressiveness


def test_the_linear_form_is_slope_times_ratio_plus_intercept() -> None:
    assert Aggressiveness()(np.array([0.0, 0.25, 1.0])).tolist() == [0.25, 0.6875, 2.0]
    assert Aggressiveness().gain == 8.0


def test_a_ratio_above_one_counts_as_one() -> None:
    assert Aggressiveness()(np.array([1.5])).tolist() == [2.0]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_goes_from_the_intercept_to_the_sum_and_increases(form: str) -> None:
    table = Aggressiveness(1.75, 0.25, form).table()
    assert table[0] == pytest.approx(0.25)
    assert table[-1] == pytest.approx(2.0)
    assert (np.diff(table) > 0).all()


def test_the_reciprocal_form_is_that_of_the_paper() -> None:
    ratio = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(Aggressiveness(form="reciprocal")(ratio), 1.0 / (4.0 - 3.5 * ratio))


def test_fair_is_always_one_and_decreasing_is_two_minus_a_part() -> None:
    ratio = np.linspace(0.0, 1.0, 11)
    assert (FAIR(ratio) == 1.0).all()
    np.testing.assert_allclose(DECREASING(ratio), 2.0 - 1.75 * ratio)


@pytest.mark.parametrize(
    ("slope", "intercept", "form", "says"),
    [
        (1.75, 0.0, "linear", "F has to be positive"),
        (-2.0, 2.0, "linear", "F has to be positive"),
        (float("nan"), 1.0, "linear", "slope nan"),
        (1.0, float("inf"), "linear", "intercept inf"),
        (1.0, 1.0, "liner", "did you mean linear"),
    ],
)
def test_what_cannot_be_one_is_refused(slope: float, intercept: float, form: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Aggressiveness(slope, intercept, form)
