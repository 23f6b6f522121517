"""Cables are as long as the room makes them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.pricing import RoomLayout, lengths_to_middle_m, mean_between_servers_m, network_bill, pricing_of

ROOM = RoomLayout()


def place(server: int, servers: int) -> tuple[float, float]:
    """Four servers a rack, 16 racks of 0.6 m a row, a row every 3 m; from the middle of the room."""
    rack, racks = server // 4, -(-servers // 4)
    wide, rows = min(racks, 16), -(-racks // 16)
    return (rack % 16 - (wide - 1) / 2) * 0.6, (rack // 16 - (rows - 1) / 2) * 3.0


@pytest.mark.parametrize("servers", [1, 7, 64, 65, 200])
def test_a_cable_goes_up_along_across_and_down(servers: int) -> None:
    by_hand = [5 + abs(x) + abs(y) for x, y in (place(server, servers) for server in range(servers))]
    assert lengths_to_middle_m(servers) == pytest.approx(by_hand)


@pytest.mark.parametrize("servers", [2, 5, 64, 130])
def test_two_servers_are_as_far_apart_as_their_racks(servers: int) -> None:
    pairs = [
        2.0
        if one // 4 == other // 4
        else 5 + sum(abs(a - b) for a, b in zip(place(one, servers), place(other, servers), strict=True))
        for one in range(servers)
        for other in range(servers)
        if one != other
    ]
    assert mean_between_servers_m(servers) == pytest.approx(float(np.mean(pairs)))


@given(servers=st.integers(1, 5000), more=st.integers(1, 200))
@settings(max_examples=60)
def test_more_servers_never_take_less_cable(servers: int, more: int) -> None:
    assert lengths_to_middle_m(servers + more).sum() >= lengths_to_middle_m(servers).sum()
    fewer, all_of_them = servers * mean_between_servers_m(servers), servers + more
    assert all_of_them * mean_between_servers_m(all_of_them) >= fewer


def test_a_length_that_is_given_wins_over_the_room() -> None:
    by_room = network_bill("topoopt", 128, 4, 100e9, pricing_of())
    given_m = network_bill("topoopt", 128, 4, 100e9, pricing_of(fiber_length_m=20.0))
    assert by_room.fiber_length_m == pytest.approx(float(lengths_to_middle_m(128).mean()))
    assert given_m.fiber_length_m == 20
    cabled = network_bill("torus", 128, 4, 100e9, pricing_of())
    assert cabled.fiber_length_m == mean_between_servers_m(128)


def test_a_room_without_racks_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="servers_per_rack and racks_per_row must be at least 1, got 0 and 16"
    ):
        RoomLayout(servers_per_rack=0)
