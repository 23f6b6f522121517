"""When waiting for a circuit beats forwarding: both sides of the break-even, computed the long way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import break_even_bytes, break_even_interval_s

DELAYS = st.floats(1e-9, 1e3)
HOPS = st.floats(1.01, 50)


@given(delay_s=DELAYS, gbps=st.floats(1, 800), hops=HOPS)
def test_a_message_of_that_size_takes_as_long_either_way(delay_s: float, gbps: float, hops: float) -> None:
    size_bytes = break_even_bytes(delay_s, gbps * 1e9, hops)
    on_a_circuit_s = delay_s + size_bytes * 8 / (gbps * 1e9)
    forwarded_s = size_bytes * 8 / (gbps * 1e9 / hops)  # each link carries for hops − 1 others, too
    assert on_a_circuit_s == pytest.approx(forwarded_s)


@given(delay_s=DELAYS, hops=HOPS)
def test_at_that_interval_both_carry_as_much(delay_s: float, hops: float) -> None:
    interval_s = break_even_interval_s(delay_s, hops)
    rewired = 1 - delay_s / interval_s
    assert rewired == pytest.approx(1 / hops)


def test_one_link_needs_no_circuit_and_no_route_always_does() -> None:
    assert break_even_bytes(1e-2, 100e9, 1.0) == float("inf")
    assert break_even_interval_s(1e-2, 1.0) == float("inf")
    assert break_even_bytes(1e-2, 100e9, float("inf")) == 0
    assert break_even_interval_s(1e-2, float("inf")) == 1e-2


def test_fewer_than_one_link_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"hops >= 1, got 0\.01 and 0\.5"):
        break_even_bytes(1e-2, 100e9, 0.5)
    with pytest.raises(InvalidInput, match="reconfiguration_s must be >= 0"):
        break_even_interval_s(-1.0, 2.0)
