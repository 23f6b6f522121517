"""The page of a price: which bills it shows, and how watts read."""

import pytest

import topoopt
from topoopt.pages.cost_tables import watts


def test_bills_that_were_not_asked_for_are_details() -> None:
    costs = topoopt.cost(fabrics=("topoopt", "fat-tree", "rail"))
    detail = {
        section.title: section.detail
        for section in topoopt.cost_page(costs, ("rail",)).sections
        if section.title.startswith("Bill")
    }
    assert detail == {"Bill of rail": False, "Bill of topoopt": True, "Bill of fat-tree": True}
    with pytest.raises(topoopt.InvalidInput, match='bill: unknown name "torsu"'):
        topoopt.cost_page(costs, ("torsu",))


def test_the_chart_adds_the_parts_to_the_price() -> None:
    costs = topoopt.cost(fabrics=("topoopt", "fat-tree"))
    (chart,) = topoopt.page_of(costs).charts
    sums = [sum(row.y[index] for row in chart.series) for index in range(2)]  # type: ignore[union-attr, misc]
    assert sums == pytest.approx([offer.bill.known_usd / 1e3 for offer in costs.offers])


def test_watts_are_short() -> None:
    assert [watts(value) for value in (None, 0, 830.4, 10_086, 2.5e6)] == [
        "–",
        "0 W",
        "830 W",
        "10.1 kW",
        "2.5 MW",
    ]
