"""Every combination of what can be counted is tried once, and the nearest to the published ratios comes first."""

from dataclasses import replace
from functools import cache

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.pricing import (
    ACCOUNTINGS,
    CUSTOM,
    PAPER,
    Accounting,
    CostRatios,
    accounting_sweep,
    cost_ratios,
    find_prices,
)

PRICES = find_prices("2022")


@cache
def rows() -> tuple[CostRatios, ...]:
    return accounting_sweep(PRICES)


def test_there_are_42_different_ways_to_count() -> None:
    # 2 (network cards) × 3 (tiers) × [3 (fiber) without look-ahead + 4 with it: two of them on every fabric]
    assert len(rows()) == 2 * 3 * (3 + 4)
    assert len({replace(row.accounting, name="") for row in rows()}) == len(rows())


def test_every_row_is_what_the_ratios_of_its_accounting_are() -> None:
    for row in rows():
        alone = cost_ratios(PRICES, row.accounting)
        assert (row.ocs_over_panel, row.ideal_over_topoopt) == (
            alone.ocs_over_panel,
            alone.ideal_over_topoopt,
        )


def test_the_named_accountings_are_among_them_and_the_others_are_custom() -> None:
    named = {row.accounting.name: row for row in rows() if row.accounting.name != CUSTOM}
    by_port = {name for name, rule in ACCOUNTINGS.items() if rule.switches == "ports"}
    assert set(named) == by_port == set(ACCOUNTINGS) - {"complete"}
    for name, row in named.items():
        assert row.ocs_over_panel == pytest.approx(cost_ratios(PRICES, ACCOUNTINGS[name]).ocs_over_panel)


@pytest.mark.reproduction
def test_none_meets_both_published_ratios_and_the_nearest_misses_by_five_percent() -> None:
    distances = [row.distance for row in rows()]
    assert distances == sorted(distances)
    assert distances[0] == pytest.approx(0.048, abs=0.001)
    assert rows()[0].accounting.name == "fat-tree-fiber"


def test_the_words_of_an_accounting_name_every_choice() -> None:
    assert PAPER.words == (
        "NICs; two panels and 1×2 switches; 500 m of fiber a link on every fabric, those of the second panel too; "
        "fat-trees of 3 tiers"
    )
    words = replace(PAPER, nics=False, look_ahead=False, fiber_on="none", tiers=1).words
    assert words == "no NICs; one panel; no fiber; fat-trees of 1 tier"
    assert Accounting().words == (
        "NICs; one panel; fiber by the layout of the room on every fabric; whole switches in the fewest tiers that "
        "reach"
    )
    different = {row.accounting.words for row in rows()}
    assert len(different) == len(rows())


def test_a_list_without_the_published_speeds_is_refused() -> None:
    slow = replace(PRICES, rows=tuple(row for row in PRICES.rows if (row.bandwidth_bps or 0) < 100e9))
    with pytest.raises(InvalidInput, match="the list ends at 40 Gb/s"):
        accounting_sweep(slow)
