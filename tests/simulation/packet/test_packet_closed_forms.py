"""Runs whose times are known to the picosecond: closed forms, and figures of the authors' packet simulator.

The figures in ms are measured with FlexNetPacket at 100 Gb/s and 1 µs a hop, each after a compute task of 1 ms.
"""

import numpy as np
import pytest

from tests.simulation.packet.engine import PACKET, after_compute, line, played, routed, switch, transfers
from topoopt.routing import Fabric
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TRANSFER, TRANSPORTS, TaskRows
from topoopt.topologies import Ring, circulant

MB = 1_000_000
ALLREDUCE = COLLECTIVES.index("allreduce")


def milliseconds(graph_rows: TaskRows, fabric: Fabric) -> float:
    return round(played(after_compute(fabric.topology.servers, graph_rows), fabric).iteration_time_s * 1e3, 9)


def to_0(count: int, *, size_bytes: int = 10 * MB) -> TaskRows:
    return TaskRows(TRANSFER, count, src=1 + np.arange(count), dst=0, size_bytes=size_bytes)


def allreduce(servers: int, size_bytes: int) -> TaskRows:
    members = (tuple(range(servers)),)
    return TaskRows(COLLECTIVE, 1, size_bytes=size_bytes, collective=ALLREDUCE, members=members)


def rings(servers: int, *strides: int) -> Fabric:
    """Rings of these strides and their opposites; a single stride gets one ring."""
    topology = circulant(servers, strides, 100e9)
    found = []
    for stride in strides:
        for step in (stride, -stride):
            walk = tuple(i * step % servers for i in range(servers))
            found.append(Ring(step % servers, walk, walk))
    fabric = routed(topology)
    kept = tuple(found) if len(strides) > 1 else (found[0],)
    return Fabric("topoopt", topology, fabric.routes, {tuple(range(servers)): kept})


@pytest.mark.parametrize(("hops", "expected_ms"), [(1, 1.802665680), (4, 1.810810560)])
def test_a_transfer_alone(hops: int, expected_ms: float) -> None:
    move = TaskRows(TRANSFER, 1, src=0, dst=hops, size_bytes=10 * MB)
    assert milliseconds(move, line(hops)) == expected_ms


@pytest.mark.parametrize(("flows", "expected_ms"), [(2, 2.603331280), (4, 4.204662480), (16, 13.812649680)])
def test_transfers_that_share_a_link(flows: int, expected_ms: float) -> None:
    move = TaskRows(TRANSFER, flows, src=0, dst=1, size_bytes=10 * MB)
    assert milliseconds(move, line(1)) == expected_ms


def test_eight_senders_to_one_receiver() -> None:
    assert milliseconds(to_0(8), switch(16)) == 7.410039840


@pytest.mark.parametrize(
    ("fabric", "expected_ms"),
    [(switch(16), 162.203915200), (rings(16, 1), 162.122466400), (rings(16, 1, 5), 41.336341600)],
    ids=["switch", "one ring", "four rings"],
)
def test_an_allreduce_of_a_gibibyte(fabric: Fabric, expected_ms: float) -> None:
    assert milliseconds(allreduce(16, 1 << 30), fabric) == expected_ms


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("size_bytes", [1, PACKET, PACKET + 2, 100 * PACKET])
@pytest.mark.parametrize("hops", [1, 3])
def test_every_transport_takes_the_time_of_the_closed_form_alone(
    transport: str, size_bytes: int, hops: int
) -> None:
    """T = h (p + L) + n 8936 p + (h - 1) 8936 p + h L while the first window covers the way; p: time of a byte."""
    byte_ps, latency_ps = 80, 1_000_000
    packets = max(1, -(-(max(size_bytes, PACKET) - 1) // PACKET))
    expected_ps = hops * (byte_ps + latency_ps) + (packets + hops - 1) * PACKET * byte_ps + hops * latency_ps
    result = played(transfers(hops + 1, (0, hops, size_bytes)), line(hops), transport=transport)
    # 11 packets cover 4 hops, so windows of 10 wait: 3 hops × 1.7 µs / 0.71 µs are 8 packets
    assert round(result.iteration_time_s * 1e12) == expected_ps


def test_acknowledgments_on_the_way_back_cost_a_handshake() -> None:
    """An acknowledgment of 64 bytes answers the packet that opens, over two hops here."""
    byte_ps, latency_ps, hops = 80, 1_000_000, 2
    graph = transfers(3, (0, 2, 5 * PACKET))
    free, reverse = (played(graph, line(2), acks=acks) for acks in ("free", "reverse"))
    difference_ps = round((reverse.iteration_time_s - free.iteration_time_s) * 1e12)
    assert difference_ps == hops * (64 * byte_ps + latency_ps)
    assert reverse.packet is not None
    assert reverse.packet.packets == 2 * (5 + 1)


def test_a_transfer_of_more_than_four_gibibytes() -> None:
    size_bytes = (1 << 32) + 5 * PACKET
    packets = -(-(size_bytes - 1) // PACKET)
    result = played(transfers(2, (0, 1, size_bytes)), line(1, 800e9))
    assert result.packet is not None
    assert result.packet.packet_hops == packets + 1
    assert round(result.iteration_time_s * 1e12) == 10 + packets * PACKET * 10 + 2 * 1_000_000


def test_nothing_to_send_takes_no_time() -> None:
    graph = transfers(3, (0, 1, 0), (2, 2, MB))
    result = played(graph, switch(3))
    assert result.iteration_time_s == 0.0
    assert result.packet is not None
    assert result.packet.packets == 0


def test_a_group_of_one_is_only_its_delay() -> None:
    alone = TaskRows(COLLECTIVE, 1, 2e-3, size_bytes=MB, collective=ALLREDUCE, members=((1,),))
    assert milliseconds(alone, switch(3)) == 3.0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_permutation_of_senders_is_as_fast_as_one(transport: str) -> None:
    one = played(transfers(6, (0, 3, MB)), switch(6), transport=transport)
    all_of_them = played(
        transfers(6, *((i, (i + 3) % 6, MB) for i in range(6))), switch(6), transport=transport
    )
    assert all_of_them.finish_s.tolist() == [one.iteration_time_s] * 6


def test_line_rate_serves_packets_in_the_order_of_their_arrival() -> None:
    """Two senders at full rate through one port: the port never idles, and its packets alternate."""
    first, second = 40, 25
    graph = transfers(3, (0, 2, first * PACKET), (1, 2, second * PACKET))
    result = played(graph, switch(3), transport="line-rate")
    byte_ps, latency_ps = 80, 1_000_000
    packet_ps = PACKET * byte_ps
    finish_ps = np.rint(result.finish_s * 1e12)
    # opened after two hops; a packet on the sender's link, then all of them on the port
    whole_ps = 2 * (byte_ps + latency_ps) + packet_ps + latency_ps + (first + second) * packet_ps + latency_ps
    assert finish_ps[0] == whole_ps
    assert finish_ps[1] == whole_ps - (first - second) * packet_ps
