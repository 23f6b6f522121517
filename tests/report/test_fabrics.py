"""Fabrics beside each other: the Pareto front, against its definition."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.errors import InvalidInput
from topoopt.plan import (
    ComparedFabric,
    Outcome,
    Plan,
    compared_fabrics,
    comparison_from_mapping,
    comparison_schema,
)
from topoopt.report import Notes, make_page
from topoopt.report.fabrics import (
    cost_against_time,
    fabric_notes,
    fabric_table,
    pareto_front,
    time_by_fabric,
)


def row(number: int, time_s: float, cost_usd: float | None) -> ComparedFabric:
    outcome = Outcome("analytic", time_s, time_s / 2, time_s / 2, 1.0, 1.0)
    return ComparedFabric(f"fabric-{number}", "", 1e9, outcome, cost_usd)


points = st.lists(
    st.tuples(st.integers(1, 6), st.one_of(st.none(), st.integers(1, 6))), min_size=1, max_size=12
)


@given(points)
def test_the_front_is_what_nobody_beats(points: list[tuple[int, int | None]]) -> None:
    rows = [row(number, time, cost) for number, (time, cost) in enumerate(points)]

    def beats(a: ComparedFabric, b: ComparedFabric) -> bool:
        assert a.cost_usd is not None
        assert b.cost_usd is not None
        no_worse = a.cost_usd <= b.cost_usd and a.outcome.iteration_time_s <= b.outcome.iteration_time_s
        return no_worse and (a.cost_usd, a.outcome.iteration_time_s) != (
            b.cost_usd,
            b.outcome.iteration_time_s,
        )

    priced = [one for one in rows if one.cost_usd is not None]
    unbeaten = {
        (one.cost_usd, one.outcome.iteration_time_s)
        for one in priced
        if not any(beats(other, one) for other in priced)
    }
    front = pareto_front(rows)
    assert {(one.cost_usd, one.outcome.iteration_time_s) for one in front} == unbeaten
    assert len(front) == len(unbeaten)


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
    assert [one.name for one in chart.series] == ["Pareto front", rows[0].name]
    assert fabric_table(rows).rows[1][-2] == "–"
    assert not cost_against_time(rows[1:]).series


def test_a_comparison_is_read_as_it_was_printed(comparison_document: dict[str, Any]) -> None:
    comparison = comparison_from_mapping(comparison_document)
    assert [one.name for one in comparison.fabrics[:2]] == ["topoopt, 400 Gb/s", "fat-tree, 125 Gb/s"]
    page = make_page(comparison)
    assert Notes(("without rail: has no price",)) in page.sections[0].blocks
    assert "ideal-switch" in page.headline
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


SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "comparison.schema.json"
REGENERATE = (
    'python -c "import json; from topoopt.plan import comparison_schema as schema; '
    'print(json.dumps(schema(), indent=1))"'
)


def test_the_published_schema_is_that_of_the_code(comparison_document: dict[str, Any]) -> None:
    published = json.loads(SCHEMA_FILE.read_text())
    assert published == comparison_schema(), f"make it anew: {REGENERATE} > docs/comparison.schema.json"
    jsonschema.validate(comparison_document, published)


def test_rows_of_one_name_are_one_in_a_note_unless_they_differ() -> None:
    """Two fat-trees by the same routes are said once; by different ones each with its bandwidth."""
    one, two, other = row(1, 1.0, None), row(1, 1.0, None), row(2, 1.0, None)
    alike = [replace(each, routes="ecmp") for each in (one, two, other)]
    assert fabric_notes(alike, (), "analytic")[0].lines == ("routes: ecmp on fabric-1, fabric-2",)
    apart = [alike[0], replace(two, routes="balanced", server_bandwidth_bps=2e9), alike[2]]
    (notes,) = fabric_notes(apart, (), "analytic")
    assert notes.lines == ("routes: ecmp on fabric-1 of 1 Gb/s, fabric-2; balanced on fabric-1 of 2 Gb/s",)
