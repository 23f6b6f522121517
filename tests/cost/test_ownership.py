"""Total cost of ownership: the price and the electricity, or nothing where the watts are not known."""

import pytest

from topoopt.cost import Running, bill_of_materials, find_prices, ownership
from topoopt.errors import InvalidInput


def test_electricity_adds_up_by_hand() -> None:
    bill = bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022"))
    found = ownership(bill, Running(4, 0.10, 1.3))
    # 512 × 19.7 W are 10.0864 kW, 13.11232 kW with cooling, over 35,040 hours
    assert found.electricity_usd == pytest.approx(10.0864 * 1.3 * 35_040 * 0.10)
    assert found.total_usd == pytest.approx(bill.cost_usd + 10.0864 * 1.3 * 35_040 * 0.10)


def test_without_watts_there_is_no_total() -> None:
    bill = bill_of_materials("topoopt", 128, 4, 800e9, find_prices("2025"))
    assert ownership(bill, Running(4, 0.10)).total_usd is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0.1), "years: expected a number >= 0, got -1"),
        ((4, float("nan")), "electricity_usd_per_kwh: expected a number >= 0, got nan"),
        ((4, 0.1, 0.9), "power_usage_effectiveness: expected a number >= 1, got 0.9"),
    ],
)
def test_what_cannot_be_is_refused(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Running(*values)
    assert str(caught.value) == message
