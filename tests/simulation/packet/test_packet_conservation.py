"""Whatever is asked for: after every event each packet is somewhere, no queue is over its limit, and all ends."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.packet.engine import GBPS, PACKET, Engine, engine, routed, transfers
from topoopt.collectives import packets
from topoopt.routing import Fabric
from topoopt.simulation import ACKS, PATH_CHOICES, TRANSPORTS, LinkFailure
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.options import RECOVERIES
from topoopt.topologies import Link, topology_from_links

MOST_EVENTS = 100_000
SERVERS = 4


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    """Four servers on one or two switches, or in a circle without any; every link with a rate of its own."""
    switches = draw(st.integers(0, 2))
    if switches == 0:
        pairs = [(i, (i + 1) % SERVERS) for i in range(SERVERS)]
    else:
        pairs = [(i, SERVERS + j) for i in range(SERVERS) for j in range(switches)]
    rate, latency = st.sampled_from([1.0, 10.0, 25.0, 100.0]), st.sampled_from([0.0, 1e-7, 1e-6, 2e-5])
    links = [Link(a, b, draw(rate) * GBPS, draw(latency)) for x, y in pairs for a, b in ((x, y), (y, x))]
    return routed(topology_from_links("drawn", SERVERS, links, SERVERS + switches))


@st.composite
def failures(draw: st.DrawFn, fabric: Fabric) -> tuple[LinkFailure, ...]:
    topology = fabric.topology
    found = []
    for link in draw(st.lists(st.integers(0, len(topology) - 1), max_size=3, unique=True)):
        begin_s = draw(st.integers(0, 200)) * 1e-6
        lasts_s = draw(st.sampled_from([1e-12, 3e-7, 1e-5, 5e-3, float("inf")]))
        found.append(
            LinkFailure(int(topology.src[link]), int(topology.dst[link]), begin_s, begin_s + lasts_s)
        )
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Engine, bool]:
    """Return an engine, and whether it may never come to an end: a link stays down, or links pause each other."""
    fabric = draw(fabrics())
    pair = st.tuples(st.integers(0, SERVERS - 1), st.integers(0, SERVERS - 1)).filter(lambda p: p[0] != p[1])
    size = st.one_of(st.integers(0, 3 * PACKET), st.integers(1, 60 * PACKET))
    rows = draw(st.lists(st.tuples(pair, size), min_size=1, max_size=6))
    broken = draw(failures(fabric))
    options: dict[str, Any] = {
        "transport": draw(st.sampled_from(sorted(TRANSPORTS))),
        "acks": draw(st.sampled_from(ACKS)),
        "path_choice": draw(st.sampled_from(PATH_CHOICES)),
        "recovery": draw(st.sampled_from(RECOVERIES)),
        "mark_packets": draw(st.sampled_from([None, 0.0, 2.0, 10.0])),
        "pfc_packets": draw(st.sampled_from([None, None, 3.0])),
        "buffer_packets": draw(st.sampled_from([None, 1, 3, 10, 40])),
        "timeout_min_s": draw(st.sampled_from([None, 1e-5, 1e-3])),
        "failures": broken,
        "log_flows": True,
    }
    graph = transfers(SERVERS, *((a, b, amount) for (a, b), amount in rows))
    may_stop = options["pfc_packets"] is not None or any(f.repair_s == float("inf") for f in broken)
    return engine(graph, fabric, draw(st.integers(0, 3)), **options), may_stop


def check(run: Engine) -> None:
    """Check the books between two events."""
    count, link = run.state.count, run.state.link
    flow = run.state.flow[: count[layout.Count.FLOWS_USED]]
    on_links = run.on_links
    assert count[layout.Count.SENT] == count[layout.Count.DELIVERED] + count[layout.Count.DROPPED] + on_links
    assert flow[:, layout.Flow.LIVE].sum() == on_links
    assert (link[:, layout.Link.QUEUED] >= 0).all()
    assert (link[:, layout.Link.QUEUED] <= link[:, layout.Link.LIMIT]).all()
    assert (link[:, layout.Link.INGRESS] >= 0).all()
    assert (flow[:, layout.Flow.ARRIVED] <= flow[:, layout.Flow.PACKETS]).all()
    assert (flow[:, [layout.Flow.PIPE, layout.Flow.LOST]] >= 0).all()


@settings(max_examples=80)
@given(cases())
def test_packets_are_conserved_after_every_event_and_all_ends(case: tuple[Engine, bool]) -> None:
    run, may_stop = case
    before = 0
    for _ in range(MOST_EVENTS):
        why = run.step()
        check(run)
        assert run.state.count[layout.Count.NOW] >= before
        before = run.state.count[layout.Count.NOW]
        if why != layout.Stop.SLICE_OVER:
            break
    count = run.state.count
    assert why == layout.Stop.FINISHED or (may_stop and why in (layout.Stop.STUCK, layout.Stop.DRAINED))
    if why == layout.Stop.FINISHED:
        size_bytes = run.graph.size_bytes
        assert count[layout.Count.LOGGED] == count[layout.Count.CONNECTIONS]
        if run.options.packet.path_choice != "paths":
            rows = run.state.log[: count[layout.Count.LOGGED]]
            assert sorted(rows[:, layout.Log.PACKETS]) == sorted(packets(size_bytes[size_bytes > 0]))
        assert (run.state.task[:, layout.Task.FINISH] >= 0).all()
