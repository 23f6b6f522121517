"""Where the answer changes: worked out by hand, and by trying."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.choice.conftest import ALONE, MIX, evaluated
from topoopt.studies.choice import DROPPED, PRICE, Limits, Network, Turn, decide, turns

KINDS = ("optics", "switches")


def turn(found: tuple[Turn, ...], name: str, above: bool) -> Turn | None:
    return next((one for one in found if one.name == name and (one.value > one.was) == above), None)


def test_a_price_turns_the_answer_where_the_products_are_equal() -> None:
    """(10 + 10)·2 = 40 against 30·1.5 = 45: optics at (45/2 - 10)/10 = 1.25 times, switches at 40/45 of theirs."""
    wired = evaluated(0, 0.0, 2.0, parts={"optics": 10.0, "cables": 10.0})
    switched = evaluated(1, 0.0, 1.5, parts={"switches": 30.0})
    found = turns([wired, switched], ALONE, Limits())
    up, down = turn(found, "optics", True), turn(found, "switches", False)
    assert up is not None
    assert down is not None
    assert up.value == pytest.approx(1.25)
    assert down.value == pytest.approx(40 / 45)
    assert up.network is down.network is switched
    assert turn(found, "optics", False) is None
    assert found[0].name == "switches"  # |log 0.89| is the least


def test_a_share_turns_the_answer_where_the_products_are_equal() -> None:
    """0.75 + 0.25·4 = 1.75 against 1.5·(0.75 + 0.25·2) = 1.875: s + 4·(1-s) = 1.5·(s + 2·(1-s)) where s is 2/3."""
    cheap, dear = evaluated(0, 1.0, 1.0, 4.0), evaluated(1, 1.5, 1.0, 2.0)
    found = turns([cheap, dear], MIX, Limits())
    first = turn(found, "one", False)
    assert first is not None
    assert (first.kind, first.was, first.network) == ("share", 0.75, dear)
    assert first.value == pytest.approx(2 / 3)
    assert turn(found, "one", True) is None


def test_a_budget_that_rising_prices_exceed_leaves_nothing() -> None:
    (up,) = turns(
        [evaluated(0, 1.0, 2.0, parts={"optics": 1.0}), evaluated(1, 9.0, 1.0, parts={"optics": 9.0})],
        ALONE,
        Limits(budget_usd=1.5),
    )
    assert up.value == pytest.approx(1.5)
    assert up.network is None
    assert up.certain


def test_what_was_dropped_takes_part_with_the_least_that_it_can_be() -> None:
    planned = evaluated(0, 0.0, 1.0, parts={"optics": 10.0})
    dropped = evaluated(1, 0.0, 1.0, status=DROPPED, parts={"switches": 12.0})
    found = turn(turns([planned, dropped], ALONE, Limits()), "switches", False)
    assert found is not None
    assert (found.network, found.certain) == (dropped, False)
    assert found.value == pytest.approx(10 / 12)


def test_one_network_alone_never_changes() -> None:
    assert turns([evaluated(0, 1.0, 1.0)], ALONE, Limits()) == ()


def test_of_equal_products_the_cheaper_is_the_answer_and_where_it_turns_from() -> None:
    """28·9 = 18·14: switches that are cheaper by anything turn it to the first, of which there are more."""
    dear = evaluated(0, 0.0, 9.0, parts={"optics": 8.0, "switches": 20.0})
    cheap = evaluated(1, 0.0, 14.0, parts={"optics": 1.0, "switches": 17.0})
    assert decide([dear, cheap], ALONE, Limits()).point is cheap
    assert {one.network for one in turns([dear, cheap], ALONE, Limits())} == {dear}


rows = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)), min_size=2, max_size=7)


@given(rows)
def test_before_a_turn_the_answer_is_the_best_and_there_the_other_one_is(
    numbers: list[tuple[int, int, int]],
) -> None:
    """By the products of money and time, worked out anew with the price that has moved."""
    grid = [
        evaluated(place, 0.0, float(time), parts={"optics": float(optics), "switches": float(switches)})
        for place, (optics, switches, time) in enumerate(numbers)
    ]

    def products(name: str, factor: float) -> dict[Network, float]:
        moved = [factor if one == name else 1.0 for one in KINDS]
        return {
            point.network: (optics * moved[0] + switches * moved[1]) * time
            for point, (optics, switches, time) in zip(grid, numbers, strict=True)
        }

    now = decide(grid, ALONE, Limits()).point.network
    for one in turns(grid, ALONE, Limits()):
        assert one.kind == PRICE
        assert one.network is not None
        before, there = (
            products(one.name, one.value + 1e-9 * (1.0 - one.value)),
            products(one.name, one.value),
        )
        assert before[now] <= min(before.values()) * (1 + 1e-6)
        assert there[one.network.network] <= min(there.values()) * (1 + 1e-6)
        assert one.network.network != now
