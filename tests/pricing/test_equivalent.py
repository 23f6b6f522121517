"""The cost-equivalent fat-tree spends no more than TopoOpt, and no faster one does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.pricing import (
    ACCOUNTINGS,
    PAPER,
    Item,
    PartRow,
    PartTable,
    bill_of_materials,
    equivalent_fat_tree,
    find_prices,
    published_equivalent_bandwidth,
)

PRICES = find_prices("2022")


def test_the_published_rule_divides_by_3_2() -> None:
    assert published_equivalent_bandwidth(4, 100e9) == 125e9
    assert published_equivalent_bandwidth(8, 200e9) == 500e9


def test_an_interpolated_speed_costs_exactly_the_budget() -> None:
    # no look-ahead: 4 × (678 + 99 + 100 + 150) = 4108 $; the fat-tree costs 2657 $ at 100 G, 4323 $ at 200 G
    tree = equivalent_fat_tree(128, 4, 100e9, PRICES, ACCOUNTINGS["no-look-ahead"])
    assert tree.interfaces == 1
    assert tree.interface_bandwidth_bps == pytest.approx((100 + 100 * (4108 - 2657) / (4323 - 2657)) * 1e9)
    assert tree.cost_per_server_usd == pytest.approx(4108)
    assert "interpolated" in tree.note


def test_several_interfaces_are_bought_where_one_ends() -> None:
    tree = equivalent_fat_tree(128, 8, 200e9, PRICES, PAPER)
    assert tree.interfaces == 3
    assert tree.server_bandwidth_bps > 2 * 200e9


@given(
    servers=st.integers(2, 300),
    degree=st.integers(1, 8),
    speed=st.sampled_from([10, 25, 40, 60, 100, 150, 200]),
    accounting=st.sampled_from(["paper", "no-look-ahead", "fat-tree-fiber"]),
)
@settings(max_examples=60)
def test_no_fat_tree_of_the_same_money_is_faster(
    servers: int, degree: int, speed: int, accounting: str
) -> None:
    rule = ACCOUNTINGS[accounting]
    tree = equivalent_fat_tree(servers, degree, speed * 1e9, PRICES, rule)
    direct = bill_of_materials("topoopt", servers, degree, speed * 1e9, PRICES, rule)
    assert tree.budget_per_server_usd == pytest.approx(direct.cost_per_server_usd)
    assert tree.cost_per_server_usd <= tree.budget_per_server_usd * (1 + 1e-12)
    if tree.interface_bandwidth_bps >= 10e9:
        own = bill_of_materials(
            "fat-tree", servers, tree.interfaces, tree.interface_bandwidth_bps, PRICES, rule
        )
        assert own.cost_per_server_usd == pytest.approx(tree.cost_per_server_usd)
    for interfaces in range(1, degree + 1):  # the oracle: try every tenth of a Gb/s
        for tenths in range(100, 2001, 50):
            bill = bill_of_materials("fat-tree", servers, interfaces, tenths * 1e8, PRICES, rule)
            if bill.known_usd <= tree.budget_per_server_usd * servers:
                assert interfaces * tenths * 1e8 <= tree.server_bandwidth_bps * (1 + 1e-12)


@given(servers=st.integers(2, 300), degree=st.integers(1, 8), speed=st.sampled_from([10, 60, 100, 400, 800]))
@settings(max_examples=40)
def test_of_whole_switches_no_listed_speed_is_faster_for_the_money(
    servers: int, degree: int, speed: int
) -> None:
    prices = find_prices("2026")
    tree = equivalent_fat_tree(servers, degree, speed * 1e9, prices)
    direct = bill_of_materials("topoopt", servers, degree, speed * 1e9, prices)
    assert tree.cost_per_server_usd <= tree.budget_per_server_usd == direct.cost_per_server_usd
    for interfaces in range(1, degree + 1):
        for listed_bps in prices.speeds_bps():
            bill = bill_of_materials("fat-tree", servers, interfaces, listed_bps, prices)
            if bill.known_usd <= direct.known_usd:
                assert interfaces * listed_bps <= tree.server_bandwidth_bps
    if "a share of it" not in tree.note:
        own = bill_of_materials("fat-tree", servers, tree.interfaces, tree.interface_bandwidth_bps, prices)
        assert own.cost_per_server_usd == tree.cost_per_server_usd


def test_a_cheap_cluster_shares_the_cheapest_interface_and_says_so() -> None:
    tree = equivalent_fat_tree(16, 1, 10e9, PRICES, PAPER)
    assert 0 < tree.server_bandwidth_bps < 10e9
    assert "one interface of 10 Gb/s, the cheapest listed: a share of it" in tree.note


def test_the_cheapest_interface_need_not_be_the_slowest() -> None:
    # TopoOpt: 10 + 2·1 + 1 = 13 $ at 200 G; a fat-tree takes 6 transceivers and 5 ports: 84 $ at 200 G, 820 $ at 100 G
    speed_usd: dict[Item, tuple[float, float]] = {
        "nic": (0.0, 0.0),
        "transceiver": (70.0, 10.0),
        "electrical_port": (80.0, 4.8),
    }
    flat_usd: dict[Item, float] = {"patch_panel_port": 1.0, "optical_switch_1x2": 1.0, "fiber_m": 0.0}
    rows = [
        PartRow(item, speed, price, "test", "test")
        for item, prices in speed_usd.items()
        for speed, price in zip((100e9, 200e9), prices, strict=True)
    ]
    rows += [PartRow(item, None, price, "test", "test") for item, price in flat_usd.items()]
    tree = equivalent_fat_tree(16, 1, 200e9, PartTable("prices", "falling", tuple(rows)), PAPER)
    assert tree.budget_per_server_usd == 13
    assert tree.server_bandwidth_bps == pytest.approx(200e9 * 13 / 84)


def test_speeds_above_the_list_are_refused_and_the_later_list_takes_them() -> None:
    with pytest.raises(InvalidInput, match="the list ends at 200 Gb/s"):
        equivalent_fat_tree(16, 4, 400e9, PRICES)
    assert equivalent_fat_tree(16, 4, 400e9, find_prices("2025"), PAPER).server_bandwidth_bps > 400e9
