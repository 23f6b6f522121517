"""How a cluster is run: figures in range, defaults with their sources."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.pricing import Running, usual_figures, usual_running


@pytest.mark.parametrize("name", usual_figures())
def test_every_default_lies_in_its_range_and_says_where_it_is_from(name: str) -> None:
    figure = usual_figures()[name]
    if None in (figure.low, figure.usual, figure.high):
        assert figure.low is figure.usual is figure.high is None
        assert figure.confidence == "unknown"
    else:
        assert figure.low <= figure.usual <= figure.high  # type: ignore[operator]
    assert figure.source
    assert figure.date


def test_the_defaults_make_a_way_of_running() -> None:
    running = usual_running({})
    assert running.left_out == ("staff", "storage")
    assert usual_running({"years": 4, "staff_usd_per_year": 0.0}).left_out == ("storage",)
    assert running.training_hours == pytest.approx(0.8 * running.hours)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0.1), "years: expected a number above 0 and up to 100, got -1"),
        ((0, 0.1), "years: expected a number above 0 and up to 100, got 0"),
        ((4, float("nan")), "electricity_price: expected dollars a kWh >= 0, got nan"),
        ((4, 0.1, 0.9), "power_usage_effectiveness: expected a number >= 1, got 0.9"),
        ((4, 0.1, 1.2, 0), "utilization: expected a share above 0 and up to 1, got 0"),
        ((4, 0.1, 1.2, 1.01), "utilization: expected a share above 0 and up to 1, got 1.01"),
        ((4, 0.1, 1.2, 1, 10), "interest: expected a share a year from 0 to 1, such as 0.1, got 10"),
        ((4, 0.1, 1.2, 1, 0.1, -1), "colocation: expected dollars >= 0, got -1"),
        ((4, 0.1, 1.2, 1, 0.1, 0, 2), "maintenance: expected a share a year from 0 to 1, such as 0.1, got 2"),
        ((4, 0.1, 1.2, 1, 0.1, 0, 0, float("nan")), "staff: expected dollars >= 0, got nan"),
        ((4, 0.1, 1.2, 1, 0.1, 0, 0, 0, float("inf")), "storage: expected dollars >= 0, got inf"),
    ],
)
def test_what_cannot_be_is_refused(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Running(*values)
    assert str(caught.value) == message
