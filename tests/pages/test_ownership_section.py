"""The section about ownership: what it shows, what it leaves open, and that its bars are the whole."""

from dataclasses import replace

import pytest

from topoopt.pages.chart import BarChart
from topoopt.pages.cost_tables import OwnedRow, ownership_sections
from topoopt.pages.page import Facts, Notes, Section, Table
from topoopt.pages.tables import dollars
from topoopt.pricing import (
    Iteration,
    NetworkPrice,
    OwnershipTerms,
    Running,
    ServerPrice,
    TrainingRun,
    beside,
    ownership,
)

SERVER = ServerPrice("ours", 200e3, 150e3, 300e3, 8e3, "8 of ours, typical price of 2026-06")
TERMS = OwnershipTerms(Running(4, 0.10, 1.3, 0.8), SERVER, TrainingRun(samples=5e6))
OWN = ownership(TERMS, 10, NetworkPrice(100e3, 2e3), Iteration(2.0, 1000))
SLOWER = beside(OWN, 2.0, ownership(TERMS, 10, NetworkPrice(50e3, 1e3), Iteration(2.2, 1000)), 2.2)
ROWS = [OwnedRow("topoopt", OWN), OwnedRow("torus", SLOWER)]


def only(section: Section, kind: type) -> list[object]:
    return [block for block in section.blocks if isinstance(block, kind)]


def test_a_saving_stands_beside_what_it_loses() -> None:
    (section,) = ownership_sections(ROWS, TERMS, 10)
    (found,) = only(section, Table)
    assert isinstance(found, Table)
    row = dict(zip(found.columns, found.rows[1], strict=True))
    assert row["fabric"] == "torus"
    assert row["network savings"] == dollars(SLOWER.network_saved_usd)
    assert row["lost server time"] == dollars(SLOWER.servers_lost_usd)
    assert row["net savings"].startswith("−")
    assert "the run" in row
    assert row["1 M samples"] == dollars(
        1e6 * (SLOWER.usd_per_sample or 0.0)
    )  # about $50; 1,000 would be cents
    (words,) = only(section, Facts)
    assert isinstance(words, Facts)
    said = dict(words.rows)
    assert said["servers"].startswith("10 servers, $200 k each ($150 k to $300 k), 8 kW each; 8 of ours")
    assert said["over"] == "4 years, training 80% of the hours"
    assert said["range"].endswith("by the price of a server")


def test_the_bars_are_what_samples_cost() -> None:
    (section,) = ownership_sections(ROWS, TERMS, 10)
    (chart,) = only(section, BarChart)
    assert isinstance(chart, BarChart)
    for place, row in enumerate(ROWS):
        assert row.owned.usd_per_sample is not None
        assert sum(series.y[place] for series in chart.series) == pytest.approx(
            1e6 * row.owned.usd_per_sample
        )


def test_what_is_unknown_is_named_with_its_fabrics() -> None:
    unknown = ownership(TERMS, 10, NetworkPrice(None, None), Iteration(2.0, 1000))
    (section,) = ownership_sections([*ROWS, OwnedRow("sip-ml", unknown)], TERMS, 10)
    notes = [line for block in only(section, Notes) if isinstance(block, Notes) for line in block.lines]
    assert "unknown: price of the network (sip-ml); sums with it are left open" in notes
    nobody = replace(TERMS, server=replace(SERVER, usd=None, low_usd=None, high_usd=None))
    alone = ownership(nobody, 10, NetworkPrice(1e5, 2e3))
    (section,) = ownership_sections([OwnedRow("topoopt", alone)], nobody, 10)
    (found,) = only(section, Table)
    assert isinstance(found, Table)
    assert found.columns == ("fabric", "network", "servers", "an hour")
    assert found.rows[0][2:] == ("–", "–")


def test_nothing_is_shown_where_nothing_is_priced() -> None:
    assert ownership_sections([], TERMS, 10) == []
    assert ownership_sections(ROWS, None, 10) == []
