"""Axes begin where the data are, and their ticks bear SI units with the prefix that suits them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages import charts
from topoopt.pages import BarChart, LineChart, Series
from topoopt.pages.chart import Limit
from topoopt.pages.chart_layout import Axis, bar_axis, line_axes, number_axis, words_and_unit

NUMBERS = st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=20)


@given(NUMBERS, st.booleans(), st.booleans())
def test_every_value_lies_within_its_axis(values: list[float], log: bool, from_zero: bool) -> None:
    axis = number_axis("time (ms)", values, log=log, from_zero=from_zero)
    assert axis.low < axis.high
    shown = [value for value in values if value > 0] if axis.log else values
    assert all(axis.low <= value <= axis.high for value in shown)


def test_an_axis_begins_where_the_data_are_unless_they_come_near_to_zero() -> None:
    far = number_axis("price ($1,000)", (77.6, 83.3))
    assert (far.low, far.high) == pytest.approx((77.6 - 0.04 * 5.7, 83.3 + 0.04 * 5.7))
    near = number_axis("price ($1,000)", (10.0, 100.0))
    assert (near.low, near.high) == pytest.approx((0, 104))
    asked = number_axis("price ($1,000)", (77.6, 83.3), from_zero=True)
    assert (asked.low, asked.high) == pytest.approx((0, 1.04 * 83.3))


def test_what_is_level_or_nothing_has_an_axis_too() -> None:
    level = number_axis("s", (202.0, 202.0))
    assert level.low < 202 < level.high
    for values in ((), (math.nan,), (0.0, 0.0)):
        empty = number_axis("s", values, log=True)
        assert (empty.low, empty.high, empty.log) == (0.0, 1.04, False)


def test_logarithms_leave_out_what_is_not_above_zero() -> None:
    axis = number_axis("bytes", (0.0, -3.0, 10.0, 1e6), log=True)
    assert 5 < axis.low < 10
    assert 1e6 < axis.high < 2e6


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("iteration time (ms)", ("iteration time", "s", 1e-3)),
        ("bytes (MB)", ("bytes", "B", 1e6)),
        ("bytes", ("", "B", 1.0)),
        ("bandwidth of a link (Gb/s)", ("bandwidth of a link", "b/s", 1e9)),
        ("price ($1,000)", ("price", "$", 1e3)),
        ("memory (GiB)", ("memory", "GiB", 1.0)),
        ("a wiring stays good for, s", ("a wiring stays good for", "s", 1.0)),
        ("million US$", ("", "$", 1e6)),
        ("hops or time, × the least of the three", ("hops or time, × the least of the three", "", 1.0)),
        ("share of the iteration, %", ("share of the iteration, %", "", 1.0)),
        ("loss (ms²)", ("loss (ms²)", "", 1.0)),
        ("servers", ("servers", "", 1.0)),
    ],
)
def test_a_label_says_the_unit_of_its_data(label: str, found: tuple[str, str, float]) -> None:
    assert words_and_unit(label) == found


@pytest.mark.parametrize(
    ("label", "value", "most", "text"),
    [
        ("time (ms)", 20, 50, "20 ms"),
        ("time (ms)", 500, 2000, "0.5 s"),
        ("time (s)", 2e-5, 1e-4, "20 µs"),
        ("time (s)", 1800, 4500, "30 min"),
        ("time (h)", 10, 30, "10 h"),
        ("size (MB)", 1500, 3000, "1.5 GB"),
        ("price ($1,000)", 83.3, 83.3, "$83.3 k"),
        ("price ($1,000)", 500, 2000, "$0.5 M"),
        ("memory (GiB)", 80, 160, "80 GiB"),
        ("servers", 20_000, 20_000, "20 k"),
        ("time (ms)", 0, 50, "0"),
        ("time (ms)", -20, 50, "−20 ms"),
    ],
)
def test_ticks_of_an_axis_have_one_prefix(label: str, value: float, most: float, text: str) -> None:
    words, unit, scale = words_and_unit(label)
    assert Axis(words, unit, scale, 0, most).tick(value, most) == text


def test_ticks_of_long_times_are_whole_minutes_or_hours() -> None:
    assert number_axis("time (s)", (0, 4500)).round_in == 60
    assert number_axis("time (h)", (0, 30)).round_in == 1
    assert number_axis("time (ms)", (0, 9e6)).round_in == 3.6e6
    assert number_axis("time (s)", (1e-9, 1e5), log=True).tick(1e4) == "10,000 s"
    assert number_axis("time (s)", (0, 100)).round_in == number_axis("servers", (0, 4500)).round_in == 1


def test_stacked_bars_reach_as_far_as_their_sums_and_limits() -> None:
    assert bar_axis(charts.memory()).high == pytest.approx(1.04 * 101)
    assert bar_axis(charts.bars()).high == pytest.approx(1.04 * 100.56)
    low = BarChart("b", "B", "", "GiB", (Series("a", ("u",), (1.0,)),), limits=(Limit(80.0, "all"),))
    assert bar_axis(low).high == pytest.approx(1.04 * 80)


def test_bars_below_zero_are_inside() -> None:
    chart = BarChart("b", "B", "", "s", (Series("a", ("u", "v"), (-2.0, 1.0)),))
    axis = bar_axis(chart)
    assert axis.low < -2 < 1 < axis.high


def test_a_limit_of_lines_is_inside_their_axis() -> None:
    chart = LineChart("a", "A", "x", "y", (Series("s", (1, 2), (1, 2)),), limits=(Limit(9, "most"),))
    assert line_axes(chart)[1].high > 9
