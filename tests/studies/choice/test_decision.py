"""One network of the front is taken: by the least money × time, or within a limit."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.choice.conftest import ALONE, evaluated
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.studies.choice import BUDGET, DEADLINE, KNEE, Evaluated, Limits, buyable, decide, front_of

FRONT = [evaluated(0, 1.0, 8.0), evaluated(1, 2.0, 3.0), evaluated(2, 4.0, 2.0), evaluated(3, 8.0, 1.9)]
BEATEN = [evaluated(4, 2.0, 3.5), evaluated(5, 9.0, 1.9)]
points = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=12)


def made(rows: list[tuple[int, int]]) -> list[Evaluated]:
    return [evaluated(place, float(usd), float(time)) for place, (usd, time) in enumerate(rows)]


def figures(point: Evaluated) -> tuple[float, float]:
    usd, time = point.usd(), point.relative_time(ALONE)
    assert usd is not None
    assert time is not None
    return usd, time


def test_the_knee_is_where_a_percent_of_money_stops_buying_a_percent_of_time() -> None:
    """Products of money and time: 8, 6, 8, 15.2."""
    found = decide([*BEATEN, *FRONT], ALONE, Limits())
    assert (found.rule, found.point) == (KNEE, FRONT[1])
    assert (found.cheaper, found.dearer) == (FRONT[0], FRONT[2])
    assert found.shares(FRONT[2], ALONE) == pytest.approx((1.0, -1 / 3))
    assert found.shares(FRONT[0], ALONE) == pytest.approx((-0.5, 5 / 3))


def test_a_budget_buys_the_fastest_that_it_pays() -> None:
    found = decide([*FRONT, *BEATEN], ALONE, Limits(budget_usd=7.9))
    assert (found.rule, found.point, found.dearer) == (BUDGET, FRONT[2], FRONT[3])


def test_a_deadline_takes_the_cheapest_that_meets_it() -> None:
    found = decide([*FRONT, *BEATEN], ALONE, Limits(deadline_years=3.0))
    assert (found.rule, found.point, found.cheaper) == (DEADLINE, FRONT[1], FRONT[0])
    last = decide(FRONT, ALONE, Limits(deadline_years=1.9))
    assert (last.point, last.dearer) == (FRONT[3], None)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(budget_usd=0.5), "budget_usd 0: no network of the grid meets it; the nearest, topoopt 1 ×"),
        (Limits(deadline_years=1.0), "deadline 1 years of work: no network of the grid meets it"),
    ],
)
def test_a_limit_that_none_meets_names_the_nearest(limits: Limits, message: str) -> None:
    with pytest.raises(Infeasible) as found:
        decide(FRONT, ALONE, limits)
    assert message in str(found.value)


@pytest.mark.parametrize(
    "words", [{"budget_usd": 0.0}, {"deadline_years": -1.0}, {"budget_usd": 1.0, "deadline_years": 1.0}]
)
def test_limits_are_one_and_above_zero(words: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Limits(**words)


@given(points, st.integers(1, 30), st.integers(1, 30))
def test_whatever_the_rule_the_best_of_all_is_on_the_front(
    rows: list[tuple[int, int]], budget: int, deadline: int
) -> None:
    grid = made(rows)
    front = front_of(grid, ALONE)
    knee = decide(grid, ALONE, Limits()).point
    assert knee in front
    assert figures(knee)[0] * figures(knee)[1] == min(usd * time for usd, time in map(figures, grid))
    for limits, place in ((Limits(budget_usd=float(budget)), 0), (Limits(deadline_years=float(deadline)), 1)):
        allowed = [figures(one) for one in grid if figures(one)[place] <= (budget, deadline)[place]]
        if not allowed:
            with pytest.raises(Infeasible):
                decide(grid, ALONE, limits)
            continue
        taken = decide(grid, ALONE, limits).point
        assert taken in front
        assert figures(taken)[1 - place] == min(one[1 - place] for one in allowed)


def test_an_ideal_switch_gives_way_to_a_network_that_is_as_good_for_no_more() -> None:
    ideal = replace(
        evaluated(0, 2.0, 3.0), network=replace(evaluated(0, 2.0, 3.0).network, fabric="ideal-switch")
    )
    same, slow, dear = evaluated(1, 2.0, 3.01), evaluated(2, 2.0, 3.6), evaluated(3, 2.1, 3.0)
    assert buyable([ideal, same, slow, dear], ALONE) == (same, slow, dear)
    assert buyable([ideal, slow, dear], ALONE) == (ideal, slow, dear)
