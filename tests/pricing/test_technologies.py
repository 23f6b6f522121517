"""Technologies for a job: those that hold its fibers, follow its traffic and leave light enough come first."""

from itertools import pairwise

import pytest

from topoopt.catalog import optical_switches
from topoopt.pricing import find_prices, technology_rows

PRICES = find_prices("2022")


def names(change_interval_s: float) -> list[str]:
    rows = technology_rows(128, 4, 100e9, PRICES, average_hops=5.354, change_interval_s=change_interval_s)
    return [row.choice.technology.name for row in rows if row.suits]


def test_traffic_that_stays_the_same_suits_the_panel_first() -> None:
    rows = technology_rows(128, 4, 100e9, PRICES, average_hops=5.354)
    assert rows[0].choice.technology.name == "patch-panel"
    assert rows[0].choice.duty == 1
    assert len(rows) == len(optical_switches())


def test_the_quicker_the_traffic_changes_the_fewer_technologies_follow() -> None:
    lists = [names(interval_s) for interval_s in (1e4, 1.0, 0.15, 1e-3, 1e-6)]
    assert [found[0] for found in lists[:3]] == ["patch-panel", "piezo", "3d-mems"]
    for more, fewer in pairwise(lists):
        assert set(fewer) <= set(more)
    assert names(1e-3) == ["silicon-photonics"]


def test_ports_of_all_interfaces_are_priced_where_a_list_prices_them() -> None:
    usd = {
        row.choice.technology.name: row.cost_usd
        for row in technology_rows(128, 4, 1e11, PRICES, average_hops=2)
    }
    assert usd["patch-panel"] == 512 * 100
    assert usd["3d-mems"] == usd["piezo"] == 512 * 520
    assert usd["plzt"] is None


def test_each_technology_that_is_sold_has_a_price_of_its_own_in_the_list_of_2026() -> None:
    rows = technology_rows(128, 4, 1e11, find_prices("2026"), average_hops=2)
    usd = {row.choice.technology.name: row.cost_usd for row in rows}
    assert usd["silicon-photonics"] == 512 * 300
    assert usd["2d-mems"] is None


def test_a_technology_that_loses_more_light_than_there_is_does_not_suit() -> None:
    rows = {row.choice.technology.name: row for row in technology_rows(128, 4, 100e9, PRICES, average_hops=2)}
    assert rows["2d-mems"].margin_db == pytest.approx(-15)
    assert rows["2d-mems"].choice.suits
    assert not rows["2d-mems"].suits
    assert rows["piezo"].margin_db is None
    assert rows["piezo"].suits


def test_a_larger_device_may_be_needed_than_there_are_servers() -> None:
    odd = technology_rows(255, 4, 100e9, PRICES, average_hops=5, ports=510)
    assert [row.choice.technology.name for row in odd if row.suits] == ["patch-panel", "piezo"]
