"""Packets on circuits that change: by hand on few servers, and beside the flow simulator."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, FabricShape, build_fabric, reconfigurable_fabric
from topoopt.routing import Fabric, Reconfiguration
from topoopt.simulation import (
    COLLECTIVE,
    TRANSFER,
    LinkFailure,
    PacketOptions,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)

GBPS = 1e9
PACKET_S = 8936 * 8 / (100 * GBPS)


def circuits(servers: int, **rule: float) -> Fabric:
    """Circuits of 100 Gb/s and 1 µs, one a server unless said otherwise, one way and without forwarding."""
    settings = {"degree": 1, "delay_s": 1e-3, "live_s": 4e-3, "first_change_s": 1e-3, "duplex": False}
    values = {**settings, "host_forwarding": False, **rule}
    return reconfigurable_fabric(
        "sip-ml",
        servers,
        Reconfiguration(bandwidth_bps=100 * GBPS, latency_s=1e-6, **values),  # type: ignore[arg-type]
    )


def transfers(servers: int, *rows: tuple[int, int, int]) -> TaskGraph:
    nothing = np.zeros(0, np.int64)
    src, dst, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    tasks = [TaskRows(TRANSFER, len(rows), src=src, dst=dst, size_bytes=size)]
    return task_graph_from_edges(servers, tasks, nothing, nothing)


def played(graph: TaskGraph, fabric: Fabric, **options: object) -> SimResult:
    return simulate("packet", graph, fabric, SimulationOptions(packet=PacketOptions(**options)))  # type: ignore[arg-type]


def test_two_servers_lose_only_the_time_of_the_change() -> None:
    size = 8936 * 10_000  # 7.1 ms on the wire: one change between 1 and 2 ms, the next begins at 6 ms
    result = played(transfers(2, (0, 1, size)), circuits(2))
    assert result.packet is not None
    on_the_wire = 10_000 * PACKET_S + 2e-6
    # two changes of 1 ms lie in between; the packet that is on the wire when one begins is done meanwhile
    assert on_the_wire + 2e-3 - 2 * PACKET_S <= result.iteration_time_s <= on_the_wire + 2e-3 + 1e-9
    assert result.packet.packet_hops == 10_001


def test_a_pair_without_a_circuit_waits_for_the_next_change() -> None:
    fabric = circuits(4, first_change_s=0.5e-3)
    src = int(fabric.topology.src[0])
    dark = next(d for d in range(4) if d != src and fabric.topology.link_id(src, d) < 0)
    result = played(transfers(4, (src, dark, 8936)), fabric)
    assert result.iteration_time_s == pytest.approx(1.5e-3 + 80e-12 + PACKET_S + 2e-6, rel=1e-9)


def test_the_heavier_pair_gets_the_only_circuit_first() -> None:
    graph = transfers(3, (0, 1, 8936 * 100), (0, 2, 8936 * 1000))
    result = played(graph, circuits(3, first_change_s=0.0))
    light, heavy = result.finish_s
    assert heavy == pytest.approx(1e-3 + 1000 * PACKET_S + 2e-6, abs=1e-6)
    assert light == pytest.approx(6e-3 + 100 * PACKET_S + 2e-6, abs=1.1e-6)


def test_without_a_change_they_are_links_like_any_others() -> None:
    fabric = circuits(6, degree=3, duplex=True, host_forwarding=True, first_change_s=1e6)
    wired = Fabric("wired", fabric.topology, fabric.routes, {})
    graph = transfers(6, *((a, b, 50_000 * (1 + a + b)) for a in range(6) for b in range(6) if a != b))
    changing, still = played(graph, fabric), played(graph, wired)
    assert changing.packet is not None
    assert still.packet is not None
    assert changing.packet.packet_hops == still.packet.packet_hops
    assert changing.packet.packets == still.packet.packets


@pytest.mark.parametrize("delay_s", [0.0, 2e-6, 1e-4])
@pytest.mark.parametrize("forwarding", [True, False])
@pytest.mark.parametrize("acks", ["free", "reverse"])
def test_every_packet_arrives_however_often_circuits_change(
    delay_s: float, forwarding: bool, acks: str
) -> None:
    rng = np.random.default_rng(1)
    rows = [
        (int(a), int(b), int(s)) for a, b, s in rng.integers((0, 0, 1), (8, 8, 2_000_000), (60, 3)) if a != b
    ]
    fabric = circuits(
        8,
        degree=3,
        duplex=True,
        host_forwarding=forwarding,
        delay_s=delay_s,
        live_s=2e-5,
        first_change_s=1e-6,
    )
    result = played(transfers(8, *rows), fabric, acks=acks)
    assert result.packet is not None
    last_acks = result.packet.packets - result.packet.delivered  # on their way when all data is in
    assert last_acks == 0 if acks == "free" else 0 <= last_acks < 100
    assert result.packet.drops == 0
    assert result.packet.connections == len(rows)
    again = played(transfers(8, *rows), fabric, acks=acks)
    assert (again.finish_s == result.finish_s).all()


@pytest.mark.parametrize("name", ["ocs-reconfig", "sip-ml"])
@pytest.mark.parametrize("delay_s", [25e-6, 1e-3])
def test_flows_and_packets_agree_where_nobody_forwards(name: str, delay_s: float) -> None:
    tasks = [
        TaskRows(COLLECTIVE, 1, size_bytes=100_000_000, collective=0, members=(tuple(range(8)),)),
        TaskRows(TRANSFER, 3, src=np.array([0, 1, 2]), dst=np.array([5, 6, 7]), size_bytes=20_000_000),
    ]
    graph = task_graph_from_edges(8, tasks, np.zeros(0, np.int64), np.zeros(0, np.int64))
    fabric = build_fabric(
        name,
        FabricRequest(
            8, 4, 100 * GBPS, graph.groups, shape=FabricShape(delay_s=delay_s, host_forwarding=False)
        ),
    )
    packet, flow = (simulate(which, graph, fabric).iteration_time_s for which in ("packet", "flow"))
    assert packet == pytest.approx(flow, rel=0.1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path_choice": "packet"}, "path choice packet"),
        ({"failures": (LinkFailure(0, 1, 0.0),)}, "failures of links"),
        ({"acks": "reverse"}, "acknowledgments on the way back"),
    ],
)
def test_what_needs_fixed_paths_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        played(transfers(2, (0, 1, 100)), circuits(2), **options)
