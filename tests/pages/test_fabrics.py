"""Fabrics beside each other: times, prices, and who is beaten in both."""

import math
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tests.published_schemas import published
from topoopt.base.errors import InvalidInput
from topoopt.pages import Notes, make_page
from topoopt.pages.chart_layout import LIGHT, styles
from topoopt.pages.comparison_page import headline as comparison_headline
from topoopt.pages.fabric_tables import (
    Advice,
    advice,
    cost_against_time,
    fabric_notes,
    fabric_table,
    front_notes,
    name_apart,
    standing,
    time_by_fabric,
)
from topoopt.pages.report import headline
from topoopt.plans import (
    ComparedFabric,
    Outcome,
    Plan,
    compared_fabrics,
    comparison_from_mapping,
    recommended,
)


def row(number: int, time_s: float, cost_usd: float | None) -> ComparedFabric:
    outcome = Outcome("analytic", time_s, time_s / 2, time_s / 2, 1.0, 1.0)
    return ComparedFabric(f"fabric-{number}", "", 1e9, outcome, cost_usd=cost_usd)


def fabric(name: str, time_ms: float, cost_usd: float | None, variant: str = "") -> ComparedFabric:
    return replace(row(0, time_ms * 1e-3, cost_usd), fabric=name, variant=variant)


ISSUE = (
    fabric("topoopt", 18.74, 83.3e3),
    fabric("rail", 17.38, 77.6e3),
    fabric("ideal-switch", 16.75, 170e3),
)
"""Much as DLRM on 16 servers of 4 x 100 Gb/s: rails were faster and cheaper than the plan."""


def advised(*rows: ComparedFabric) -> Advice:
    said = advice(rows)
    assert said is not None
    assert len(said.sentence.split()) <= 30
    return said


def test_the_first_sentence_recommends_a_network(plan: Plan) -> None:
    said = advised(*ISSUE)
    assert said.sentence == (
        "Recommended: rail for $77.6 k, 17.38 ms per iteration; faster networks are too dear."
    )
    assert said.reasons == {
        "recommended": "rail for $77.6 k ($77.6 k to $77.6 k in 80% of price draws), cheaper than topoopt in >99% of "
        "them, 17.38 ms per iteration",
        "faster": "ideal-switch ($170 k, 16.75 ms); dearer",
    }
    assert advice((ISSUE[0],)) is None
    tied = advised(*ISSUE[:2], fabric("torus", 17.4, 80e3))
    assert tied.sentence.endswith("per iteration; torus is as fast within the error, and not cheaper.")
    assert tied.reasons["as fast"] == "torus ($80 k), within the error"
    alike = [fabric("torus", 17.4, 80e3), fabric("expander", 17.4, 80e3)]
    assert advised(*ISSUE[:2], *alike).sentence.endswith(
        ", the cheapest of 3 that are as fast within the error."
    )
    assert advised(ISSUE[1], *alike).sentence == (
        "The network does not limit this job: all 3 are as fast within the error. Take rail for $77.6 k, 17.38 ms per "
        "iteration."
    )
    slower = advised(*ISSUE, fabric("torus", 22.0, 59.3e3))
    assert slower.reasons["cheaper"] == "torus ($59.3 k, 22 ms); slower"
    rows = compared_fabrics(plan)
    faster = replace(rows[0].outcome, iteration_time_s=rows[0].outcome.iteration_time_s / 2)
    rival = replace(rows[1], fabric="rival", outcome=faster, cost_usd=1.0, cost_parts_usd={}, variant="")
    assert headline(plan, (rows[0], rival)).startswith("Recommended: rival for $1, ")
    assert "rival" not in headline(plan, rows)


def test_the_network_to_buy() -> None:
    plan, rail, switch = ISSUE
    assert recommended(ISSUE) is rail
    assert recommended((plan, switch)) is plan, (
        "twice the price, and no ownership says what the time is worth"
    )
    assert recommended((plan, fabric("torus", 18.9, 59.3e3))).fabric == "torus", "as fast within the error"  # type: ignore[union-attr]
    assert recommended((plan, fabric("torus", 30.0, 1e3))) is plan, "slower"
    assert recommended((replace(plan, cost_usd=None), rail)) is None
    assert recommended((plan,)) is None


def test_the_ideal_switch_gives_way_to_a_network_of_the_same_price() -> None:
    plan, alike = fabric("topoopt", 30.0, 200e3), fabric("rail", 16.76, 170e3)
    assert recommended((plan, ISSUE[2])) is ISSUE[2]
    assert recommended((plan, ISSUE[2], alike)) is alike
    assert recommended((plan, ISSUE[2], replace(alike, cost_usd=171e3))) is ISSUE[2]


def test_a_comparison_says_it_first_too() -> None:
    sentences = comparison_headline(ISSUE).split(". ")
    assert sentences[0].startswith("Recommended: rail for $77.6 k")


def test_a_table_says_who_is_on_the_front_and_who_beats_the_first_row() -> None:
    dearer, unpriced = fabric("oversub-fat-tree", 18.5, 90e3), fabric("torus", 1.0, None)
    rows = (*ISSUE, dearer, unpriced)
    assert [standing(rows)(one) for one in rows] == ["", "best buy", "on front", "", None]
    assert fabric_table(rows).columns[-2] == "verdict"
    assert [line[-2] for line in fabric_table(rows).rows] == ["", "best buy", "on front", "", "–"]
    (notes,) = front_notes(rows)
    assert notes.lines == (
        "front of price and time, from the cheapest to the fastest: rail and ideal-switch",
    )
    assert front_notes((ISSUE[0], unpriced)) == ()


def test_fabrics_of_one_name_say_what_differs() -> None:
    trees = (fabric("fat-tree", 44.0, 49e3, "d·B/3.2"), fabric("fat-tree", 29.0, 69e3, "priced"))
    assert [line[0] for line in fabric_table((ISSUE[0], *trees)).rows] == [
        "topoopt",
        "fat-tree (d·B/3.2)",
        "fat-tree (priced)",
    ]
    assert [one.name for one in trees] == ["fat-tree (d·B/3.2), 1 Gb/s", "fat-tree (priced), 1 Gb/s"]


def test_a_plan_stands_first_and_its_bars_sum_to_its_times(plan: Plan) -> None:
    rows = compared_fabrics(plan)
    assert rows[0].description == "this plan"
    assert len(rows) == 1 + len(plan.baselines)
    computed, exposed = time_by_fabric(rows).series
    for one, a, b in zip(rows, computed.y, exposed.y, strict=True):
        assert a + b == pytest.approx(one.outcome.iteration_time_s * 1e3)
    assert len(set(computed.x)) == len(rows)


def test_a_fabric_without_a_price_has_a_bar_and_no_point() -> None:
    rows = (row(1, 1.0, 100.0), row(2, 2.0, None))
    assert len(time_by_fabric(rows).series[0].x) == 2
    chart = cost_against_time(rows)
    assert [(one.name, one.ringed) for one in chart.series] == [
        ("on the Pareto front", False),
        ("recommended", True),
    ]
    assert fabric_table(rows).rows[1][-3] == "–"
    assert not cost_against_time(rows[1:]).series


def test_the_plan_is_ringed_and_the_front_has_names(plan: Plan) -> None:
    rows = compared_fabrics(plan)
    series = {one.name: one for one in cost_against_time(rows).series}
    named = [name for one in series.values() for name in one.names if name]
    assert sorted(named) == sorted(name_apart(rows)(row) for row in rows if row.cost_usd is not None)
    assert {name for name, one in series.items() if one.ringed} <= {"this plan", "recommended"}
    assert any(one.ringed for one in series.values())
    by_name = dict(zip(series, styles(tuple(series.values())), strict=True))
    assert by_name["other networks"].color == LIGHT[6]


def test_a_comparison_is_read_as_it_was_printed(comparison_document: dict[str, Any]) -> None:
    comparison = comparison_from_mapping(comparison_document)
    assert [one.name for one in comparison.fabrics[:2]] == ["topoopt, 400 Gb/s", "fat-tree, 125 Gb/s"]
    page = make_page(comparison)
    assert Notes(("without rail: has no price",)) in page.sections[1].blocks
    assert (
        page.headline == "Recommended: topoopt for $80 k, 20 ms per iteration; cheaper networks are too slow."
    )
    fidelities = next(chart for chart in page.charts if chart.name == "fidelities")
    assert [one.name for one in fidelities.series] == ["analytic", "flow"]  # type: ignore[union-attr]
    assert math.isclose(fidelities.series[1].y[0], 20.2)  # type: ignore[union-attr]


def test_a_comparison_of_one_fabric_and_one_simulator_is_a_page(comparison_document: dict[str, Any]) -> None:
    only = {
        key: value for key, value in comparison_document["fabrics"][0].items() if key != "iteration_times_s"
    }
    document = {**comparison_document, "fabrics": [only], "simulators": ["analytic"]}
    page = make_page(comparison_from_mapping(document))
    assert [section.key for section in page.sections] == ["fabrics", "network", "trust"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"servrs": 3}, "servrs"),
        ({"fabrics": []}, "fabrics"),
        ({"bandwidth_bps": -1}, "bandwidth_bps"),
        ({"simulators": []}, "simulators"),
        ({"simulators": ["analytic", "packet"]}, "fabrics.0.iteration_times_s: no time by packet"),
    ],
)
def test_a_comparison_that_is_none_is_one_line(
    comparison_document: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        comparison_from_mapping({**comparison_document, **change}, "c.json")
    assert str(caught.value).startswith("c.json: ")
    assert "\n" not in str(caught.value)


def test_a_comparison_follows_the_schema(comparison_document: dict[str, Any]) -> None:
    jsonschema.validate(comparison_document, published("comparison"))


def test_rows_of_one_name_are_one_in_a_note_unless_they_differ() -> None:
    """Two fabrics of one name by the same routes are said once; by different ones each by what tells it apart."""
    one, two, other = row(1, 1.0, None), row(1, 1.0, None), row(2, 1.0, None)
    alike = [replace(each, routes="ecmp") for each in (one, two, other)]
    assert fabric_notes(alike, (), "analytic")[0].lines == ("routes: ecmp on fabric-1, fabric-2",)
    apart = [alike[0], replace(two, routes="balanced", server_bandwidth_bps=2e9), alike[2]]
    (notes,) = fabric_notes(apart, (), "analytic")
    assert notes.lines == ("routes: ecmp on fabric-1 of 1 Gb/s, fabric-2; balanced on fabric-1 of 2 Gb/s",)
