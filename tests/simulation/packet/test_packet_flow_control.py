"""Priority flow control: no packet is lost where there is headroom, and a circle of pauses is found."""

import pytest

from tests.simulation.packet.engine import PACKET, duplex, played, routed, switch, transfers
from topoopt.base.errors import Infeasible
from topoopt.routing import Fabric
from topoopt.simulation import TaskGraph
from topoopt.topologies import Link, topology_from_links

THRESHOLD = 10
HEADROOM = 6
"""A pause arrives one latency (1 µs) after it was sent, and the packet that is being sent then is sent to its end;
what left before is on the wire for another latency: 2 µs at 0.71 µs a packet, and two."""


def incast(senders: int, packets: int) -> TaskGraph:
    return transfers(senders + 1, *((1 + i, 0, packets * PACKET) for i in range(senders)))


def test_without_pauses_an_incast_loses_packets() -> None:
    result = played(
        incast(8, 300), switch(9), transport="line-rate", buffer_packets=8 * (THRESHOLD + HEADROOM)
    )
    assert result.packet is not None
    assert result.packet.drops > 0


@pytest.mark.parametrize("transport", ["line-rate", "dcqcn"])
def test_pauses_keep_an_incast_without_loss_and_its_port_busy(transport: str) -> None:
    result = played(
        incast(8, 300),
        switch(9),
        transport=transport,
        pfc_packets=THRESHOLD,
        mark_packets=0.0,
        buffer_packets=8 * (THRESHOLD + HEADROOM),
    )
    assert result.packet is not None
    assert result.packet.pauses > 0
    assert result.packet.drops == 0
    # 2,400 packets of 0.71 µs through one port, and the latencies before and after
    assert result.iteration_time_s == pytest.approx(2400 * PACKET * 80e-12, rel=0.01)


def test_the_thresholds_of_dcqcn_hold_where_notices_come_too_late() -> None:
    result = played(incast(16, 200), switch(17), transport="dcqcn", buffer_packets=16 * (100 + HEADROOM))
    assert result.packet is not None
    assert result.packet.pauses > 0
    assert result.packet.drops == 0


def ring_of_switches() -> Fabric:
    """Four servers on a switch each; packets go round the switches one way only."""
    around = [Link(4 + i, 4 + (i + 1) % 4, 100e9, 1e-6) for i in range(4)]
    return routed(
        topology_from_links("ring", 4, duplex([(i, 4 + i) for i in range(4)], 100e9, 1e-6) + around, 8)
    )


@pytest.mark.parametrize("buffer_packets", [None, 100])
def test_links_that_wait_for_each_other_in_a_circle_are_a_deadlock(buffer_packets: int | None) -> None:
    """Every server sends two switches on, so each link between switches is wanted by two at full rate."""
    graph = transfers(4, *((i, (i + 2) % 4, 2000 * PACKET) for i in range(4)))
    with pytest.raises(Infeasible, match=r"deadlock at .* s: \d+ links are paused"):
        played(graph, ring_of_switches(), transport="line-rate", pfc_packets=5, buffer_packets=buffer_packets)


def test_the_same_circle_without_pauses_comes_to_its_end() -> None:
    graph = transfers(4, *((i, (i + 2) % 4, 2000 * PACKET) for i in range(4)))
    result = played(graph, ring_of_switches(), transport="line-rate")
    assert result.iteration_time_s == pytest.approx(4000 * PACKET * 80e-12, rel=0.01)
