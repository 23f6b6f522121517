"""The front against its definition: every pair compared."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.plans import dominates, dominators, front

Point = tuple[float | None, float | None]
figures = st.one_of(st.none(), st.integers(1, 6).map(float))
points = st.lists(st.tuples(figures, figures), max_size=14)


def price(point: Point) -> float | None:
    return point[0]


def time(point: Point) -> float | None:
    return point[1]


def beats(one: Point, other: Point) -> bool:
    """By the words of the definition; a figure that is unknown decides nothing."""
    if None in (*one, *other):
        return False
    (price_a, time_a), (price_b, time_b) = one, other
    assert price_a is not None
    assert time_a is not None
    assert price_b is not None
    assert time_b is not None
    return (price_a < price_b and time_a <= time_b) or (price_a <= price_b and time_a < time_b)


@given(points)
def test_the_front_is_what_no_other_beats(rows: list[Point]) -> None:
    unbeaten = [row for row in rows if None not in row and not any(beats(other, row) for other in rows)]
    found = front(rows, price, time)
    assert sorted(found, key=str) == sorted(unbeaten, key=str)
    assert [price(row) for row in found] == sorted(price(row) or 0 for row in found)


@given(points)
def test_a_row_is_on_the_front_or_somebody_on_it_beats_it(rows: list[Point]) -> None:
    found = front(rows, price, time)
    for row in rows:
        over = dominators(row, rows, price, time)
        assert sorted(over, key=str) == sorted((one for one in rows if beats(one, row)), key=str)
        assert [time(one) for one in over] == sorted(time(one) or 0 for one in over)
        if None not in row:
            assert (row in found) != any(one in found for one in over)


@given(points, st.floats(0.1, 1e12), st.floats(1e-9, 1e3))
def test_the_front_is_the_same_in_any_unit(rows: list[Point], dollars: float, seconds: float) -> None:
    scaled = front(rows, lambda row: row[0] and row[0] * dollars, lambda row: row[1] and row[1] * seconds)
    assert scaled == front(rows, price, time)


def test_what_only_arithmetic_tells_apart_is_equal() -> None:
    rows = [(0.3, 1.0), (0.1 + 0.2, 1.0), (0.3, 1.0 + 1e-12)]
    assert front(rows, lambda row: row[0], lambda row: row[1]) == tuple(rows)
    assert not any(dominates(one, other) for one, other in product(rows, rows))
    assert dominates((0.3, 1.0), (0.3, 1.0 + 1e-6))


@pytest.mark.parametrize("unknown", [None, float("inf"), float("nan")])
def test_what_is_unknown_is_on_no_front_and_beats_nobody(unknown: float | None) -> None:
    rows: list[Point] = [(1.0, unknown), (unknown, 1.0), (5.0, 5.0)]
    assert front(rows, price, time) == ((5.0, 5.0),)
    assert [dominators(row, rows, price, time) for row in rows] == [(), (), ()]
