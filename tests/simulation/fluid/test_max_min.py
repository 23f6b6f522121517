"""Rates equal progressive filling in exact arithmetic, on random small cases."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.fluid.max_min import max_min_rates
from topoopt.base.errors import InvalidInput

Usage = list[dict[int, int]]  # per flow: link -> coefficient


def progressive_filling(capacity: list[int], usage: Usage, weight: list[int]) -> list[Fraction]:
    """Raise all rates together, freeze the flows of the link that fills first, go on with the rest."""
    left = [Fraction(value) for value in capacity]
    rate: list[Fraction | None] = [None] * len(usage)
    while any(value is None for value in rate):
        rising = [f for f, value in enumerate(rate) if value is None]
        shares = {}
        for link, room in enumerate(left):
            demand = sum(usage[f].get(link, 0) * weight[f] for f in rising)
            if demand:
                shares[link] = room / demand
        full = min(shares, key=lambda link: shares[link])
        for f in [f for f in rising if full in usage[f]]:
            rate[f] = shares[full] * weight[f]
            for link, coefficient in usage[f].items():
                left[link] -= coefficient * shares[full] * weight[f]
    return [value for value in rate if value is not None]


def rates(capacity: list[int], usage: Usage, weight: list[int]) -> list[float]:
    first = np.concatenate(([0], np.cumsum([len(links) for links in usage])))
    link = np.array([m for links in usage for m in links], np.int64)
    coefficient = np.array([c for links in usage for c in links.values()], np.float64)
    found = max_min_rates(
        np.array(capacity, np.float64), first, link, coefficient, np.array(weight, np.float64)
    )
    return [float(rate) for rate in found]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], Usage, list[int]]:
    links = draw(st.integers(1, 6))
    flows = draw(st.integers(1, 8))
    capacity = draw(st.lists(st.integers(1, 50), min_size=links, max_size=links))
    one_flow = st.dictionaries(st.integers(0, links - 1), st.integers(1, 3), min_size=1)
    usage = draw(st.lists(one_flow, min_size=flows, max_size=flows))
    weight = draw(st.lists(st.integers(1, 4), min_size=flows, max_size=flows))
    return capacity, usage, weight


@settings(max_examples=100)
@given(cases())
def test_rates_equal_exact_progressive_filling(case: tuple[list[int], Usage, list[int]]) -> None:
    expected = [float(value) for value in progressive_filling(*case)]
    assert rates(*case) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=100)
@given(cases())
def test_every_flow_has_a_bottleneck(case: tuple[list[int], Usage, list[int]]) -> None:
    """A full link on which nobody has a higher rate per weight: the definition of max-min fairness."""
    capacity, usage, weight = case
    found = rates(*case)
    load = [sum(found[f] * links.get(m, 0) for f, links in enumerate(usage)) for m in range(len(capacity))]
    assert all(load[m] <= capacity[m] * (1 + 1e-9) for m in range(len(capacity)))
    for f, links in enumerate(usage):
        assert any(
            load[m] >= capacity[m] * (1 - 1e-9)
            and all(
                found[f] / weight[f] >= found[g] / weight[g] * (1 - 1e-9)
                for g, others in enumerate(usage)
                if m in others
            )
            for m in links
        )


def test_a_parking_lot_shares_as_in_the_textbook() -> None:
    # one long flow over three links against one short flow on each; the last link is the narrow one
    assert rates([10, 10, 4], [{0: 1, 1: 1, 2: 1}, {0: 1}, {1: 1}, {2: 1}], [1] * 4) == [2, 8, 8, 2]


def test_a_heavier_flow_gets_its_weight() -> None:
    assert rates([12], [{0: 1}, {0: 1}], [1, 3]) == [3, 9]


def test_rates_need_positive_numbers_and_a_link() -> None:
    one = np.ones(1)
    with pytest.raises(InvalidInput, match="at least one link"):
        max_min_rates(one, np.array([0, 0]), np.zeros(0, np.int64), np.zeros(0), one)
    with pytest.raises(InvalidInput, match=r"weight must be positive, got 0\.0"):
        max_min_rates(one, np.array([0, 1]), np.array([0]), one, np.zeros(1))
