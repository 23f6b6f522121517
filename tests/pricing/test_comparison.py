"""A network priced on every fabric."""

from math import inf

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, ClusterSpec
from topoopt.pricing import (
    FabricOptions,
    PricedNetwork,
    Purchase,
    changed_accounting,
    compare_costs,
    find_power,
    find_prices,
)

NETWORK = PricedNetwork(ClusterSpec(128, 4, 100e9), 5.35, "the best rings", largest_pair_bytes=80e6)
PURCHASE = Purchase(
    changed_accounting("complete"), find_prices("2022"), find_power("typical"), FabricOptions()
)


def test_every_fabric_has_an_offer_and_topoopt_is_the_yardstick() -> None:
    costs = compare_costs(NETWORK, PURCHASE)
    usual = NETWORKS.that(lambda one: one.closed_form and one.name != "full-mesh")
    assert tuple(offer.bill.fabric for offer in costs.offers) == usual
    assert "127 interfaces and the largest has 72" in dict(costs.skipped)["full-mesh"]
    assert costs.own == costs.offers[0].bill
    for row in costs.to_json()["fabrics"]:
        assert row["cost_low_usd"] < row["cost_usd"] < row["cost_high_usd"]
        if row["fabric"] != "topoopt":
            assert (row["cheaper_share"] > 0.5) == (row["over_topoopt"] < 1)
    assert len(costs.bill_rows()) == sum(len(offer.bill.lines) for offer in costs.offers)


def test_transfers_are_worth_a_circuit_of_what_is_quick_enough() -> None:
    costs = compare_costs(NETWORK, PURCHASE, ["topoopt"])
    least = {row.choice.technology.name: row.break_even_bytes for row in costs.technologies}
    assert set(costs.worth_a_circuit_of) == {name for name, size in least.items() if size <= 80e6}
    assert 0 < len(costs.worth_a_circuit_of) < len(least)


def test_traffic_that_changes_is_warned_of() -> None:
    assert not compare_costs(NETWORK, PURCHASE, ["topoopt"], change_interval_s=inf).warnings
    assert len(compare_costs(NETWORK, PURCHASE, ["topoopt"], change_interval_s=1.0).warnings) == 1


def test_a_fabric_without_a_price_is_a_mistake_only_where_it_was_named() -> None:
    with pytest.raises(InvalidInput, match='fabrics: unknown name "topopt"'):
        compare_costs(NETWORK, PURCHASE, ["topopt"])
    with pytest.raises(InvalidInput, match="fabrics: none leaves nothing to price"):
        compare_costs(NETWORK, PURCHASE, [])
