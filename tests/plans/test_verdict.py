"""How sure it is that a network is cheaper or faster: draws of prices, and the error of pairs of measured runs."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.catalog import NetworkRow
from topoopt.plans import standings
from topoopt.plans.verdict import faster_share
from topoopt.pricing.pricing import DRAWS, cheaper_share, drawn_usd

Parts = Mapping[str, tuple[float, float, float]]


def row(name: str, parts: Parts) -> NetworkRow:
    listed = sum(usd for _, usd, _ in parts.values())
    return NetworkRow(name, name, 1e12, cost_usd=listed, cost_parts_usd=parts)


CABLES = row("cables", {"nic": (70.0, 100.0, 160.0), "fiber_m": (5.0, 10.0, 20.0)})
SWITCHES = row("switches", {"nic": (70.0, 100.0, 160.0), "electrical_port": (20.0, 40.0, 80.0)})
PANELS = row("panels", {"nic": (70.0, 100.0, 160.0), "patch_panel_port": (5.0, 12.0, 40.0)})


def test_parts_that_both_have_do_not_count() -> None:
    """Dearer NICs make both dearer: switches cost more than cables in every draw, though their ranges overlap."""
    assert cheaper_share(CABLES, SWITCHES) == 1.0
    assert drawn_usd(CABLES.cost_parts_usd).max() > drawn_usd(SWITCHES.cost_parts_usd).min()
    assert cheaper_share(CABLES, CABLES) == 0.5
    share = cheaper_share(CABLES, PANELS)
    assert share is not None
    assert 0.6 < share < 0.9, "cables for 5 to 20 dollars against panels for 5 to 40"


def test_draws_are_triangular() -> None:
    """Mean (a + b + c) / 3, variance (a² + b² + c² - ab - ac - bc) / 18."""
    drawn = drawn_usd({"nic": (1.0, 2.0, 6.0)})
    assert len(drawn) == DRAWS
    assert drawn.mean() == pytest.approx(3.0, rel=1e-3)
    assert drawn.var() == pytest.approx((1 + 4 + 36 - 2 - 6 - 12) / 18, rel=5e-3)
    assert np.all(drawn_usd({"nic": (2.0, 2.0, 2.0)}) == 2.0)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_one_of_two_is_faster(one_s: float, other_s: float) -> None:
    assert faster_share(one_s, other_s) + faster_share(other_s, one_s) == pytest.approx(1.0)
    assert (faster_share(one_s, other_s) > 0.5) == (one_s < other_s)


def test_a_verdict_needs_nine_of_ten() -> None:
    rows = [SWITCHES, CABLES, PANELS]
    level = standings(rows, lambda one: 1.0)
    assert [(its.beats, its.ties_for_less) for its in level] == [(False, False), (False, True), (False, True)]
    times = {"switches": 1.0, "cables": 1.2, "panels": 0.8}
    apart = standings(rows, lambda one: times[one.fabric])
    assert [(its.beats, its.ties_for_less) for its in apart] == [
        (False, False),
        (False, False),
        (True, False),
    ]
    assert (apart[0].cheaper_share, apart[0].faster_share) == (None, None)
    assert apart[0].cost_low_usd is not None
    assert apart[0].cost_low_usd < 140 < (apart[0].cost_high_usd or 0.0)


def test_without_a_price_there_is_no_verdict() -> None:
    unknown = NetworkRow("unknown", "unknown", 1e12)
    its = standings([CABLES, unknown], lambda one: 1.0)[1]
    assert (its.on_front, its.cheaper_share, its.beats) == (None, None, False)
