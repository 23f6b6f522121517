"""Every verb prices by the list and the accounting that its words name, and no study mixes two."""

from pathlib import Path

import pytest

import topoopt
from topoopt.plans import Plan
from topoopt.pricing import DEFAULT_PRICES, network_bill, pricing_of


@pytest.fixture(scope="module")
def paper_plan() -> Plan:
    return topoopt.plan(
        "dlrm",
        servers=8,
        degree=2,
        fabrics=("rail",),
        budget=0,
        baseline_budget=0,
        prices="2022",
        accounting="paper",
    )


def test_a_plan_and_what_is_beside_it_are_priced_by_its_words(paper_plan: Plan) -> None:
    pricing = pricing_of("2022", "paper")
    assert paper_plan.price["prices"] == "2022"
    assert paper_plan.price["accounting"]["name"] == "paper"
    # two ports of 678 + 99 + 2·100 + 25 + 2·150 dollars at each of eight servers
    assert paper_plan.price["cost_usd"] == 8 * 2 * 1302
    assert paper_plan.baselines[0].cost_usd == network_bill("rail", 8, 2, 100e9, pricing).cost_usd


def test_a_comparison_prices_the_plan_by_its_own_list(paper_plan: Plan) -> None:
    words = {"tiers": 2, "fiber_length": 20.0, "link_technology": "linear"}
    compared = topoopt.compare(paper_plan, fabrics=("rail",), baseline_budget=0, **words)  # type: ignore[arg-type]
    pricing = pricing_of(tiers=2, fiber_length_m=20.0, link_technology="linear")
    assert compared.prices == DEFAULT_PRICES == "2026"
    for row in compared.fabrics:
        assert row.cost_usd == network_bill(row.fabric, 8, 2, 100e9, pricing).cost_usd


def test_the_same_list_at_every_speed_and_in_every_verb() -> None:
    for bandwidth in ("25Gbps", "100Gbps", "400Gbps", "1.6Tbps"):
        costs = topoopt.cost(servers=16, degree=2, bandwidth=bandwidth, fabrics=("topoopt", "rail"))
        assert costs.purchase.prices.name == "2026"
        assert all(offer.bill.cost_usd is not None for offer in costs.offers)


def test_a_mistake_in_a_word_of_prices_is_found_before_anything_is_searched(tmp_path: Path) -> None:
    for words, message in (
        ({"prices": "2027"}, 'prices: unknown name "2027"'),
        ({"accounting": "compleat"}, 'accounting: unknown name "compleat"; did you mean complete'),
        ({"tiers": 5}, "tiers: expected 1, 2 or 3, got 5"),
        ({"link_technology": "radio"}, 'link_technology: unknown name "radio"'),
        ({"prices": str(tmp_path / "none.csv")}, "no such file"),
    ):
        with pytest.raises(topoopt.InvalidInput, match=message):
            topoopt.plan("dlrm", servers=8, degree=2, **words)
