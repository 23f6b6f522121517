"""Counters over time: of a job that sends in bursts, read in namespaces, the profile is what it does."""

import socket
import time
from pathlib import Path
from threading import Thread

import pytest

import topoopt
from tests.plugins.testbeds.network.test_testbed import PORT, laid
from topoopt.clusters.interleave import write_counters
from topoopt.plugins.testbeds.namespaces import inside
from topoopt.plugins.testbeds.network import Layout, Testbed, build, counting, switch_layout
from topoopt.plugins.testbeds.network.layout import identity
from topoopt.routing import SingleShortestRoutes
from topoopt.topologies import circulant

PERIOD_S = 0.3
SIZE_BYTES = 400_000
ITERATIONS = 10
BANDWIDTH_BPS = 25e6
LASTS_S = SIZE_BYTES * 8 * 9014 / 8948 / BANDWIDTH_BPS
"""Of a burst: packets of 9,000 bytes have 66 of headers on 8,948 of data."""


def send_in_bursts(testbed: Testbed, src: int, dst: int) -> None:
    """Let a server send over one connection in every period, and the other read."""
    server = inside(testbed.namespace(dst), lambda: socket.create_server((identity(dst), PORT)))

    def receive() -> None:
        with server, server.accept()[0] as connection:
            room = bytearray(1 << 16)
            while connection.recv_into(room):
                pass

    def send() -> None:
        with socket.create_connection((identity(dst), PORT), timeout=30) as connection:
            begin_s = time.monotonic()
            for iteration in range(ITERATIONS):
                time.sleep(max(0.0, begin_s + iteration * PERIOD_S - time.monotonic()))
                connection.sendall(bytes(SIZE_BYTES))
            time.sleep(max(0.0, begin_s + ITERATIONS * PERIOD_S - time.monotonic()))

    receiver = Thread(target=receive)
    receiver.start()
    inside(testbed.namespace(src), send)
    receiver.join()


def direct() -> Layout:
    topology = circulant(3, (1,), BANDWIDTH_BPS)
    return laid(topology, SingleShortestRoutes(topology), BANDWIDTH_BPS)


@pytest.mark.parametrize("switched", [False, True])
def test_the_profile_of_bursts_is_found_from_the_counters(
    machine: str, tmp_path: Path, switched: bool
) -> None:
    layout = switch_layout(3, BANDWIDTH_BPS) if switched else direct()
    with build(layout, machine, 1) as testbed, counting(testbed, 0.004) as readings:
        send_in_bursts(testbed, 0, 1)
    write_counters(
        tmp_path / "job.csv",
        (
            (reading.time_s, f"{a}-{b}", float(size))
            for reading in readings
            for (a, b), size in reading.sent_bytes.items()
        ),
    )
    links = ("0-3", "3-1") if switched else ("0-1",)
    for link in links:
        answer = topoopt.phases(tmp_path / "job.csv", link=link)
        assert answer.profile.iteration_time_s == pytest.approx(PERIOD_S, rel=0.01)
        # a full bucket lets the first packets go quicker, so that a burst may be two phases
        assert answer.profile.duty * PERIOD_S == pytest.approx(LASTS_S, abs=0.05 * PERIOD_S)
        assert any(
            min(phase.start_s, PERIOD_S - phase.start_s) < 0.05 * PERIOD_S for phase in answer.profile.phases
        )
        assert answer.profile.size_bytes == pytest.approx(SIZE_BYTES, rel=0.05)
    assert topoopt.phases(tmp_path / "job.csv").link in links


def test_readings_end_with_the_counters_of_the_end(machine: str) -> None:
    with build(direct(), machine, 1) as testbed:
        with counting(testbed, 0.5) as readings:
            pass
        counted = {(port.src, port.dst): port.sent_bytes for port in testbed.counters()}
    assert readings[0].time_s < 0.1
    assert dict(readings[-1].sent_bytes) == counted
