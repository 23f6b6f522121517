"""Links that fail, paths that change, packets that overtake each other, and acknowledgments that get lost."""

import re

import pytest

from tests.simulation.packet.engine import PACKET, duplex, line, played, routed, switch, transfers
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation import TRANSPORTS, LinkFailure
from topoopt.simulation.packet.options import RECOVERIES
from topoopt.topologies import topology_from_links

FOREVER = float("inf")


def spines(count: int, rate_bps: float = 100e9) -> Fabric:
    """Two servers, a leaf each, and some spines between: as many paths."""
    links = duplex([(0, 2), (1, 3)], 400e9, 1e-6)
    links += duplex([(leaf, 4 + i) for leaf in (2, 3) for i in range(count)], rate_bps, 1e-6)
    return routed(topology_from_links("spines", 2, links, 4 + count))


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_transfer_waits_for_the_repair_of_its_only_link(transport: str, recovery: str) -> None:
    broken = LinkFailure(0, 1, 20e-6, 5e-3)
    result = played(
        transfers(2, (0, 1, 100 * PACKET)),
        line(1),
        transport=transport,
        recovery=recovery,
        failures=(broken,),
        timeout_min_s=1e-3,
    )
    assert result.packet is not None
    assert result.packet.drops > 0
    assert result.packet.timeouts > 0
    # timeouts come after 1 ms, then 2 and 4 ms, so at 1, 3 and 7 ms
    assert 5e-3 < result.iteration_time_s < 10e-3
    assert result.packet.link_packets[0] + result.packet.drops == result.packet.packets


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_link_that_is_never_repaired_is_named_by_its_connection(transport: str) -> None:
    with pytest.raises(Infeasible, match=re.escape("connection 0->1 gave up after 25 timeouts in a row")):
        played(
            transfers(2, (0, 1, 100 * PACKET)),
            line(1),
            transport=transport,
            failures=(LinkFailure(0, 1, 20e-6),),
        )


def test_after_a_timeout_a_connection_takes_its_next_path() -> None:
    fabric = spines(2)
    graph = transfers(2, (0, 1, 400 * PACKET))
    whole = played(graph, fabric)
    assert whole.packet is not None
    spine = 4 if whole.packet.link_packets[fabric.topology.link_id(2, 4)] else 5
    around = played(graph, fabric, failures=(LinkFailure(2, spine, 10e-6),), timeout_min_s=1e-3)
    assert around.packet is not None
    assert around.packet.timeouts == 1
    other = 9 - spine
    assert around.packet.link_packets[fabric.topology.link_id(2, other)] >= 300
    assert around.iteration_time_s < whole.iteration_time_s + 2e-3


def test_what_is_on_the_wire_when_a_link_fails_still_arrives() -> None:
    """A packet needs 715 ns and 1 µs; of the ten that leave from 1.00008 µs on, one has left by 1.8 µs."""
    broken = LinkFailure(0, 1, 1.8e-6, 2.0e-6)
    result = played(transfers(2, (0, 1, 10 * PACKET)), line(1), transport="reno", failures=(broken,))
    assert result.packet is not None
    assert result.packet.drops == 9
    assert result.packet.resent == 9


def test_a_short_failure_does_not_delay_what_comes_after_it() -> None:
    """A packet is lost on its way onto the link; one of a byte that joins afterwards arrives before it would have."""
    broken = LinkFailure(0, 1, 1.5e-6, 1.5e-6 + 1e-12)
    graph = transfers(2, (0, 1, PACKET), (0, 1, PACKET), start_s=(0.0, 1.6e-6))
    result = played(graph, line(1), failures=(broken,))
    assert result.packet is not None
    assert result.packet.drops == 1
    latency_ps, byte_ps = 1_000_000, 80
    assert round(result.finish_s[1] * 1e12) == 1_600_000 + 2 * latency_ps + (1 + PACKET) * byte_ps


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sprayed_packets_share_the_paths_and_lose_nothing_by_overtaking(transport: str) -> None:
    fabric = spines(4)
    result = played(transfers(2, (0, 1, 4000 * PACKET)), fabric, transport=transport, path_choice="packet")
    assert result.packet is not None
    assert result.packet.resent == 0
    used = [result.packet.link_packets[fabric.topology.link_id(2, 4 + i)] for i in range(4)]
    # 4,000 draws of four paths: 1,000 each, with a standard deviation of 27
    assert all(abs(packets - 1000) < 5 * 27 for packets in used)
    one = played(transfers(2, (0, 1, 4000 * PACKET)), fabric, transport=transport)
    assert result.iteration_time_s < 0.5 * one.iteration_time_s


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sprayed_packets_that_are_lost_are_sent_again(transport: str, recovery: str) -> None:
    fabric = spines(4, 25e9)
    result = played(
        transfers(2, (0, 1, 500 * PACKET), (0, 1, 300 * PACKET)),
        fabric,
        transport=transport,
        recovery=recovery,
        path_choice="packet",
        buffer_packets=12,
        mark_packets=0.0,
        acks="reverse",
        failures=(LinkFailure(2, 4, 50e-6, 3e-3),),
    )
    assert result.packet is not None
    assert result.packet.drops > 0
    assert result.packet.resent > 0


def test_acknowledgments_that_are_lost_cost_time_and_no_packet() -> None:
    """The way back is down for a while: data arrives, nothing is heard, and a timeout sends more."""
    broken = LinkFailure(1, 0, 10e-6, 2e-3)
    graph = transfers(2, (0, 1, 300 * PACKET))
    result = played(graph, line(1), transport="reno", acks="reverse", failures=(broken,))
    assert result.packet is not None
    assert result.packet.link_drops.tolist() == [0, result.packet.drops]
    assert result.packet.timeouts >= 1
    assert result.iteration_time_s > 2e-3


def test_a_failure_of_a_link_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has no link 0->3"):
        played(transfers(2, (0, 1, PACKET)), line(1), failures=(LinkFailure(0, 3, 0.0),))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_waits_in_the_server_itself_is_not_taken_as_lost(transport: str) -> None:
    """Eight flows of 3,000 packets each through one interface: 17 ms of packets, more than the timeout of 10 ms."""
    graph = transfers(9, *((0, 1 + i, 3000 * PACKET) for i in range(8)))
    result = played(graph, switch(9), transport=transport, buffer_packets=100)
    assert result.packet is not None
    assert result.packet.timeouts == 0
    assert result.packet.resent == 0
    assert result.iteration_time_s == pytest.approx(8 * 3000 * PACKET * 80e-12, rel=0.01)
