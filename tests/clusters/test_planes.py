"""Two planes of panels: ports belong to one job at a time, and fibers that can stay do."""

import pytest

from topoopt.clusters.shards import Planes
from topoopt.topologies import circulant


def planes(count: int = 2) -> Planes:
    return Planes(count, degree=4, links="duplex", interfaces_per_panel=1, together=100)


def test_the_same_wiring_again_moves_nothing_and_another_only_what_differs() -> None:
    room = planes(1)
    moved = []
    for job, strides in (("a", (1, 3)), ("b", (1, 3)), ("c", (1, 5)), ("d", (3, 5))):
        moved.append(room.wire(job, range(16), 0, circulant(16, strides, 100e9), 0.0)[1])
        room.activate(job, 0.0)
        room.release(job, 1.0)
    assert moved[:2] == [32, 0]
    # Multiplied by 3, strides 1 and 5 of 16 become 3 and 1 (15 is 1 the other way round): servers change places.
    assert moved[2] == 0
    assert moved[3] <= 16


def test_fibers_to_servers_outside_are_unplugged() -> None:
    room = planes(1)
    room.wire("a", range(8), 0, circulant(8, (1, 3), 100e9), 0.0)
    room.activate("a", 0.0)
    room.release("a", 1.0)
    room.wire("b", range(4, 12), 0, circulant(8, (1, 3), 100e9), 1.0)
    room.activate("b", 1.0)
    room.release("b", 2.0)
    held = room.log[-1]
    assert {server for patch in held.patches for server in (patch.src, patch.dst)} == set(range(4, 12))
    assert len(held.patches) == 16


def test_a_port_is_not_given_to_two_jobs() -> None:
    room = planes()
    room.wire("a", range(4), 0, circulant(4, (1,), 100e9), 0.0)
    with pytest.raises(AssertionError, match="one job at a time"):
        room.wire("b", range(3, 7), 0, circulant(4, (1,), 100e9), 0.0)
    assert room.unowned(3) == (1,)
    room.wire("b", range(3, 7), 1, circulant(4, (1,), 100e9), 0.0)
    assert room.unowned(3) == ()


def test_a_server_runs_one_job_at_a_time_though_two_are_wired() -> None:
    room = planes()
    for plane, job in enumerate("ab"):
        room.wire(job, range(4), plane, circulant(4, (1,), 100e9), 0.0)
    room.activate("a", 0.0)
    with pytest.raises(AssertionError, match="runs one job at a time"):
        room.activate("b", 1.0)
    room.release("a", 2.0)
    room.activate("b", 2.0)
    room.release("b", 3.0)
    assert [(held.job, held.plane, held.active_s, held.to_s) for held in room.log] == [
        ("a", 0, 0, 2),
        ("b", 1, 2, 3),
    ]
