"""Every check fails on a plan that is spoiled in the way that it is there to catch, and says where."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import topoopt
from topoopt.routing import ExplicitRoutes, Path
from topoopt.routing.forwarding import ForwardingTables, forwarding_tables
from topoopt.studies.verification import Check, subject_of_plan
from topoopt.studies.verification.traffic_checks import _transfers, checked_tables, wrong_schedules
from topoopt.topologies import Ring, WiredRing, topology_from_arrays

Spoil = Callable[[topoopt.Plan], topoopt.Plan]


def check_of(plan: topoopt.Plan, name: str) -> Check:
    return next(check for check in topoopt.verify(plan).checks if check.name == name)


def on(plan: topoopt.Plan, **parts: Any) -> topoopt.Plan:
    return replace(plan, fabric=replace(plan.fabric, **parts))


def rewired(plan: topoopt.Plan, change: Callable[[list[tuple[int, int]]], None]) -> topoopt.Plan:
    """Return the plan with other links, each way one of a list; nothing else changes."""
    old = plan.fabric.topology
    ends = [
        pair
        for pair, ports in zip(
            zip(old.src.tolist(), old.dst.tolist(), strict=True), old.ports.tolist(), strict=True
        )
        for _ in range(ports)
    ]
    change(ends)
    src, dst = np.array(ends, np.int64).T
    each_bps = plan.job.cluster.link_bandwidth_bps
    return on(
        plan, topology=topology_from_arrays("direct", old.servers, src, dst, each_bps, old.latency_s[0])
    )


def explicit(plan: topoopt.Plan) -> dict[tuple[int, int], tuple[Path, ...]]:
    servers = plan.fabric.topology.servers
    return {(a, b): plan.fabric.routes.paths(a, b) for a in range(servers) for b in range(servers) if a != b}


def rerouted(
    plan: topoopt.Plan, change: Callable[[dict[tuple[int, int], tuple[Path, ...]]], None]
) -> topoopt.Plan:
    table = explicit(plan)
    change(table)
    return on(plan, routes=ExplicitRoutes(plan.fabric.topology, table))


def with_ring(plan: topoopt.Plan, ring: Callable[[Ring], Ring]) -> topoopt.Plan:
    everyone, (first, *others) = next((members, rings) for members, rings in plan.fabric.rings.items())
    return on(plan, rings={**plan.fabric.rings, everyone: (ring(first), *others)})


def one_more_cable(ends: list[tuple[int, int]]) -> None:
    ends += [(0, 3), (3, 0)]


def a_cable_one_way(ends: list[tuple[int, int]]) -> None:
    ends.remove((1, 0))
    ends.append((1, 6))


def without_a_server(ends: list[tuple[int, int]]) -> None:
    ends[:] = [(a, b) for a, b in ends if 7 not in (a, b)] + [(7, 7)] * 0


def two_rings_and_a_cable(ends: list[tuple[int, int]]) -> None:
    rings = [(first + i, first + (i + 1) % 6) for first in (0, 6) for i in range(6)]
    cables = [*rings, (0, 6)]
    ends[:] = cables + [(b, a) for a, b in cables]


def far_path(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    table[0, 1] = (Path((0, 3, 1)),)  # strides 1 and 5: no link 0-3


def half_a_path(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    table[0, 6] = (Path((0, 1)),)


def there_and_back(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    table[0, 1] = (Path((0, 11, 0, 1)),)


def none(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    del table[4, 9]


def too_light(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    table[2, 3] = (Path((2, 3), 0.75),)


def another_way(table: dict[tuple[int, int], tuple[Path, ...]]) -> None:
    table[0, 1] = (Path((0, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)),)


def test_the_plan_passes_as_it_is(good: topoopt.Plan) -> None:
    answer = topoopt.verify(good)
    assert good.strides == (1, 5)
    assert answer.passed, answer.lines()
    assert all(check.looked_at and not check.skipped for check in answer.checks)


SPOILED: list[tuple[str, str, Spoil]] = [
    ("ports", "server 0 has 5 links out and 4 ports", lambda plan: rewired(plan, one_more_cable)),
    (
        "ports",
        "link 0->1: 1 there and 0 back, and a cable is both",
        lambda plan: rewired(plan, a_cable_one_way),
    ),
    (
        "ports",
        "link 0->1: 50 Gb/s, and 1 port of 100 Gb/s are 100 Gb/s",
        lambda plan: on(
            plan,
            topology=replace(
                plan.fabric.topology,
                bandwidth_bps=np.concatenate(([50e9], plan.fabric.topology.bandwidth_bps[1:])),
            ),
        ),
    ),
    (
        "ports",
        "link 0->1: latency 0.5 s, that of the cluster 1e-06",
        lambda plan: on(
            plan,
            topology=replace(
                plan.fabric.topology, latency_s=np.concatenate(([0.5], plan.fabric.topology.latency_s[1:]))
            ),
        ),
    ),
    (
        "connectivity",
        "server 7: server 0 does not reach it, or it not that one",
        lambda plan: rewired(plan, without_a_server),
    ),
    (
        "single failures",
        "cable 0->6: without it server 6 is cut off from server 0",
        lambda plan: rewired(plan, two_rings_and_a_cable),
    ),
    ("routes", "pair 0->1: path 0-3-1: there is no link 0->3", lambda plan: rerouted(plan, far_path)),
    ("routes", "pair 0->6: path 0-1 goes from 0 to 1", lambda plan: rerouted(plan, half_a_path)),
    ("routes", "pair 0->1: path 0-11-0-1 goes round", lambda plan: rerouted(plan, there_and_back)),
    ("routes", "pair 4->9: no route", lambda plan: rerouted(plan, none)),
    (
        "weights",
        "pair 2->3: the weights of its paths sum to 0.75, not 1",
        lambda plan: rerouted(plan, too_light),
    ),
    (
        "rings",
        "ring 0 of all servers: does not meet server 11",
        lambda plan: with_ring(
            plan, lambda ring: replace(ring, members=ring.members[:-1], walk=ring.walk[:-1])
        ),
    ),
    (
        "rings",
        "there is no link",
        lambda plan: with_ring(
            plan, lambda ring: Ring(0, (0, 2, 1, *range(3, 12)), (0, 2, 1, *range(3, 12)))
        ),
    ),
    (
        "rings",
        "meets server 0 2 times",
        lambda plan: with_ring(plan, lambda ring: replace(ring, members=(*ring.members, ring.members[0]))),
    ),
    (
        "rings",
        "its walk does not meet the members in their order",
        lambda plan: with_ring(
            plan, lambda ring: replace(ring, members=(*ring.members[:4], *ring.members[:3:-1]))
        ),
    ),
    ("rings", "and has no ring", lambda plan: on(plan, rings={})),
    (
        "bytes",
        "link_bytes_max: the plan says 1, traffic and routes",
        lambda plan: replace(plan, outcome=replace(plan.outcome, link_bytes_max=1.0)),
    ),
    (
        "numbers",
        "iteration_time_s: the plan says",
        lambda plan: replace(plan, outcome=replace(plan.outcome, iteration_time_s=0.0125)),
    ),
    (
        "numbers",
        "bandwidth_tax: the plan says 1.5, and it is 1.",
        lambda plan: replace(plan, outcome=replace(plan.outcome, bandwidth_tax=1.5)),
    ),
    (
        "numbers",
        "lower_bound_s: the plan says 9.0, and no iteration is faster, but this one takes 0.0",
        lambda plan: replace(plan, bounds=replace(plan.bounds, injection_s=9.0)),
    ),
    (
        "numbers",
        "bounds.average_hop_s: the plan says 0.0, and it is 0.0",
        lambda plan: replace(plan, bounds=replace(plan.bounds, average_hop_s=0.0)),
    ),
    (
        "numbers",
        "routing.max_load_s: the plan says 0.25",
        lambda plan: replace(plan, routing_gap=replace(plan.routing_gap, max_load_s=0.25)),
    ),
    ("numbers", "iteration_time_s", lambda plan: rerouted(plan, another_way)),
]


@pytest.mark.parametrize(
    ("name", "message", "spoil"), SPOILED, ids=[f"{row[0]}: {row[1]}" for row in SPOILED]
)
def test_a_spoiled_plan_fails_where_it_is_spoiled(
    name: str, message: str, spoil: Spoil, good: topoopt.Plan
) -> None:
    answer = topoopt.verify(spoil(good))
    failed = next(check for check in answer.checks if check.name == name)
    assert not answer.passed
    assert failed in answer.failed
    assert any(message in failure for failure in failed.failures), failed.failures
    assert any(line.startswith(f"plan: {name}: ") for line in answer.lines())


def test_bytes_that_the_simulator_puts_elsewhere_are_found(good: topoopt.Plan) -> None:
    """The two sums are of different code: the bytes of one link are taken from what was simulated."""
    from topoopt.studies.verification.traffic_checks import check_link_bytes  # noqa: PLC0415 - the test's own

    subject = subject_of_plan(good)
    assert check_link_bytes(subject).passed
    moved = subject.simulated.link_bytes.copy()
    moved[3], moved[4] = moved[3] - 1e6, moved[4] + 1e6
    object.__setattr__(subject, "simulated", replace(subject.simulated, link_bytes=moved))
    failed = check_link_bytes(subject)
    assert failed.failed == 2
    assert "bytes by traffic and routes" in failed.failures[0]


def broken(tables: ForwardingTables, **columns: Any) -> ForwardingTables:
    return replace(tables, **columns)


def test_forwarding_that_leads_elsewhere_is_found(good: topoopt.Plan) -> None:
    subject = subject_of_plan(good)
    tables = forwarding_tables(
        subject.topology, subject.routed, pairs=(subject.routed.src, subject.routed.dst)
    )
    assert checked_tables(subject, tables).passed
    topology = subject.topology

    entry = int(tables.entries(np.array([0]), np.array([0]), np.array([6]), np.array([0]))[0])
    kept = np.arange(len(tables)) != entry
    count = np.diff(tables.hop_first)[kept]
    hop = np.repeat(kept, np.diff(tables.hop_first))
    dropped = replace(
        tables,
        **{name: getattr(tables, name)[kept] for name in ("node", "source", "dst", "identity")},
        hop_first=np.concatenate(([0], np.cumsum(count))),
        link=tables.link[hop],
        share=tables.share[hop],
    )
    assert (
        "pair 0->6: a part comes to a server that has no entry for it"
        in checked_tables(subject, dropped).failures
    )

    back = tables.link.copy()  # who is next to 6 sends what is for it back to where it came from
    for node in topology.src[topology.dst == 6].tolist():
        at = int(tables.entries(np.array([node]), np.array([node]), np.array([6]), np.array([0]))[0])
        away = next(
            link
            for link in range(topology.first_link[node], topology.first_link[node + 1])
            if topology.dst[link] != 6
        )
        back[tables.hop_first[at] : tables.hop_first[at + 1]] = away
    circling = checked_tables(subject, replace(tables, link=back))
    wrong_ways = ("goes round and never arrives", "of it over link")
    assert any(way in failure for failure in circling.failures for way in wrong_ways)
    assert circling.failed

    uneven = tables.share.copy()
    several = int(np.flatnonzero(np.diff(tables.hop_first) > 1)[0])
    first = int(tables.hop_first[several])
    uneven[first], uneven[first + 1] = uneven[first] + 0.25, uneven[first + 1] - 0.25
    wrong = checked_tables(subject, replace(tables, share=uneven))
    assert any("the tables send" in failure for failure in wrong.failures)


def test_a_schedule_that_forgets_a_chunk_is_found(with_broadcast: topoopt.Plan) -> None:
    assert topoopt.verify(with_broadcast).passed
    subject = subject_of_plan(with_broadcast)
    case = ("bfb", tuple(range(8)))
    transfers = _transfers(subject, case)
    assert not list(wrong_schedules(subject, [(case, transfers)]))
    last = replace(
        transfers,
        **{
            name: getattr(transfers, name)[:-1] for name in ("step", "src", "dst", "first", "count", "reduce")
        },
    )
    assert any("missing or wrong" in line for line in wrong_schedules(subject, [(case, last)]))
    elsewhere = transfers.dst.copy()
    elsewhere[0] = next(
        server
        for server in range(8)
        if server != transfers.src[0] and subject.topology.link_id(int(transfers.src[0]), server) < 0
    )
    lines = list(wrong_schedules(subject, [(case, replace(transfers, dst=elsewhere))]))
    assert any("sends over a link" in line for line in lines)


def test_panels_are_looked_at_port_by_port(good: topoopt.Plan) -> None:
    wiring = topoopt.topology(12, 4, family="lifted", budget=0.1)
    assert isinstance(wiring, topoopt.WiringAnswer)
    from topoopt.studies.verification.subject import subject_of_wiring  # noqa: PLC0415
    from topoopt.studies.verification.wiring_checks import check_panels  # noqa: PLC0415 - the test's own

    ports = wiring.ports
    assert check_panels(subject_of_wiring(wiring.wiring, ports, "wiring")).passed
    for column, value, message in (
        ("src_port", (int(ports.src_port[0]) + 1) % 4, "are on two panels of 1 interfaces"),
        ("src_port", (int(ports.src_port[0]) + 1) % 4, "is taken by 2 links"),
        ("dst_port", 4, "port 4; ports are 0..3"),
        ("dst", (int(ports.dst[0]) + 1) % 12, "in the wiring"),
    ):
        spoiled = getattr(ports, column).copy()
        spoiled[0] = value
        check = check_panels(subject_of_wiring(wiring.wiring, replace(ports, **{column: spoiled}), "wiring"))
        assert any(message in failure for failure in check.failures), check.failures


def test_the_rings_of_a_wiring_are_looked_at(good: topoopt.Plan) -> None:
    wiring = topoopt.topology(12, 4, family="lifted", budget=0.1)
    assert isinstance(wiring, topoopt.WiringAnswer)
    from topoopt.studies.verification.subject import subject_of_wiring  # noqa: PLC0415
    from topoopt.studies.verification.wiring_checks import check_rings  # noqa: PLC0415 - the test's own

    assert check_rings(subject_of_wiring(wiring.wiring, None, "wiring")).passed
    walk = wiring.wiring.rings[0].walk.copy()
    walk[[2, 7]] = walk[[7, 2]]
    spoiled = replace(wiring.wiring, rings=(WiredRing(walk), *wiring.wiring.rings[1:]))
    assert any(
        "there is no link" in one for one in check_rings(subject_of_wiring(spoiled, None, "wiring")).failures
    )
