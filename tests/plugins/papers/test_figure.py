"""When a value counts as met, and how values are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.plugins.papers import Comparison, number, published, tolerance, verdict


def row(ours: float, low: float, high: float, allowed: float | None = 0.0) -> Comparison:
    return Comparison("time", "ms", ours, low, high, allowed, "the talk")


def test_inside_the_published_range_the_ratio_is_one() -> None:
    assert row(17.0, 15.0, 21.0).ratio == 1
    assert row(17.0, 15.0, 21.0).met
    assert row(22.05, 15.0, 21.0, 0.05).ratio == pytest.approx(1.05)


@given(st.floats(0.1, 1e9), st.floats(0.0, 0.5))
def test_the_tolerance_is_relative_to_the_nearest_end(value: float, allowed: float) -> None:
    assert row(value * (1 + allowed * 0.999), value, value, allowed).met
    assert not row(value * (1 + allowed * 1.01 + 1e-6), value, value, allowed).met


def test_without_a_tolerance_nothing_is_met_or_missed() -> None:
    assert row(5.0, 1.0, 1.0, None).met is None


def test_published_nothing_is_met_by_nothing_alone() -> None:
    assert row(0.0, 0.0, 0.0).met
    assert not row(0.1, 0.0, 0.0).met


def test_words() -> None:
    assert [number(value) for value in (337163664.0, 0.000001, 10.0, 1.2345, 12345.6, float("nan"))] == [
        "337,163,664",
        "1e-06",
        "10",
        "1.234",
        "12,346",
        "nan",
    ]
    assert (published(row(1, 15, 21)), published(row(1, 3, 3))) == ("15–21", "3")
    assert [tolerance(row(1, 1, 1, value)) for value in (None, 0.0, 0.0045, 0.05)] == [
        "–",
        "exact",
        "0.45%",
        "5%",
    ]
    assert [verdict(row(ours, 1, 1, allowed)) for ours, allowed in ((1, 0), (2, 0), (2, None))] == [
        "yes",
        "no",
        "reported",
    ]
