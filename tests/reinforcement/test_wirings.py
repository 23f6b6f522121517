"""One wiring for all phases against one each: what changes save, what they wait for, when they pay."""

import numpy as np
import pytest

from topoopt.reinforcement.fabrics import Ports, Rewiring, Turn, static_or_changed
from topoopt.reinforcement.phase_traffic import among, is_silent, parts_of, scaled, together
from topoopt.workloads.traffic import AllReduceGroup, Traffic, merged_traffic, traffic_from_matrix

PORTS = Ports(2, 100e9, 1e-6)
SERVERS = 8


def rings(size_bytes: int = 10**10) -> Traffic:
    return merged_traffic(SERVERS, [AllReduceGroup(tuple(range(SERVERS)), size_bytes)])


def pairs(size_bytes: float = 1e10) -> Traffic:
    matrix = np.zeros((SERVERS, SERVERS))
    matrix[np.arange(SERVERS), (np.arange(SERVERS) + 4) % SERVERS] = size_bytes
    return traffic_from_matrix(matrix)


def found(*turns: tuple[Traffic, float]) -> Rewiring | None:
    return static_or_changed([Turn({"phase": one}, seconds) for one, seconds in turns], PORTS)


NOTHING = merged_traffic(SERVERS, [])


def test_without_traffic_no_wiring_is_better() -> None:
    assert found((NOTHING, 1.0), (NOTHING, 2.0)) is None


def test_a_single_turn_with_traffic_never_pays_for_changes() -> None:
    one = found((NOTHING, 1.0), (rings(), 2.0))
    assert one is not None
    assert (one.gain_s, one.changes, one.break_even_s) == (0.0, 0, 0.0)
    assert not any(technology.pays for technology in one.technologies)


def test_turns_that_want_other_wirings_pay_below_the_break_even() -> None:
    one = found((rings(), 10.0), (pairs(), 10.0))
    assert one is not None
    assert one.gain_s > 0
    assert one.changes == 2
    assert one.break_even_s == pytest.approx(one.gain_s / 2)
    for technology in one.technologies:
        assert technology.pays == (technology.delay_s < one.break_even_s)
        assert technology.saved_s == pytest.approx(one.gain_s - 2 * technology.delay_s)


def test_changes_while_nothing_is_sent_are_not_waited_for() -> None:
    without = found((rings(), 10.0), (pairs(), 10.0))
    silent = found((NOTHING, 1000.0), (rings(), 10.0), (pairs(), 10.0))
    assert without is not None
    assert silent is not None
    assert silent.gain_s == pytest.approx(without.gain_s)
    panel, panel_before = silent.technologies[0], without.technologies[0]
    assert panel.name == "patch-panel"
    assert panel.waited_s == pytest.approx(panel_before.waited_s / 2)
    assert silent.break_even_s == pytest.approx(2 * without.break_even_s)


def test_what_hides_behind_software_saves_nothing() -> None:
    """Pairs need 0.8 s and more on two ports of 100 Gb/s; a transport that takes 100 s hides all of that."""
    open_, hidden = (
        static_or_changed(
            [Turn({"training": rings()}, 10.0), Turn({"weights": pairs()}, 10.0, {"weights": seconds})], PORTS
        )
        for seconds in (0.0, 100.0)
    )
    assert open_ is not None
    assert hidden is not None
    assert open_.gain_s > 0
    assert hidden.gain_s == pytest.approx(0)
    assert hidden.static_s > hidden.static_wait_s
    assert not any(technology.pays for technology in hidden.technologies)


def test_each_wiring_takes_the_quickest_way() -> None:
    slow, quick = pairs(), pairs(1e8)
    turns = [Turn({"weights": slow}, 10.0, {}, {"weights": (quick,)}), Turn({"training": rings()}, 10.0)]
    with_other, alone = static_or_changed(turns, PORTS), found((slow, 10.0), (rings(), 10.0))
    assert with_other is not None
    assert alone is not None
    assert with_other.static_wait_s < alone.static_wait_s


def test_scaled_traffic_is_that_much_and_together_the_sum() -> None:
    both = together([rings(), scaled(rings(), 0.5), pairs()])
    assert both.allreduce_bytes == 15 * 10**9
    assert both.mp_bytes == pairs().mp_bytes
    assert is_silent(NOTHING)
    assert not is_silent(both)


def test_servers_that_exchange_nothing_are_parts_of_their_own() -> None:
    matrix = np.zeros((8, 8))
    matrix[0, 7] = 5
    traffic = together([merged_traffic(8, [AllReduceGroup((2, 5), 10)]), traffic_from_matrix(matrix)])
    parts = parts_of(traffic)
    assert [part.tolist() for part in parts] == [[0, 7], [2, 5]]
    assert among(traffic, parts[1]) == merged_traffic(2, [AllReduceGroup((0, 1), 10)])
    assert among(traffic, parts[0]).mp_bytes == 5
