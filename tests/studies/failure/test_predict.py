"""Predictions: against fabrics cut by hand, against bounds, and what every repair must keep to."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.failure.conftest import MakePlan, job
from tests.studies.failure.test_detours import both, cut
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import FabricRequest, FinderRules, build_fabric, find_topology
from topoopt.plans import plan_from_mapping, plan_to_mapping
from topoopt.routing import Fabric, make_routes
from topoopt.search import SearchOptions, make_plan, simulated
from topoopt.studies.failure import (
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    Prediction,
    move_time_s,
    phases,
    predict,
    repaired_plan,
)
from topoopt.topologies import Ring
from topoopt.workloads.traffic import AllReduceGroup, Traffic

FAILURES = [FailedLink(2, 3), FailedInterface(5, 1), FailedPanel(0), FailedServer(9)]


@pytest.mark.parametrize("simulator", ["analytic", "flow"])
def test_during_is_what_a_fabric_cut_by_hand_takes(small_plan: MakePlan, simulator: str) -> None:
    plan = small_plan(servers=8, degree=2)
    everyone = tuple(range(8))
    back = (*everyone[:1], *everyone[:0:-1])
    assert [ring.walk for ring in plan.fabric.rings[everyone]] == [everyone, back]
    # Without the cable 3-4 the ring upwards turns round in 3 and goes down to 4, and the other one likewise.
    up = (0, 1, 2, 3, 2, 1, 0, 7, 6, 5, 4, 5, 6, 7)
    down = (0, 7, 6, 5, 4, 5, 6, 7, 0, 1, 2, 3, 2, 1)
    topology = cut(plan.fabric.topology, both((3, 4)))
    rings = {everyone: (Ring(1, up, everyone), Ring(7, down, back))}
    by_hand = Fabric("topoopt", topology, make_routes("single-shortest", topology), rings)
    predicted = predict(plan, FailedLink(3, 4), simulator=simulator)
    assert predicted.during.iteration_time_s == pytest.approx(
        simulated(plan.job, plan.strategy, by_hand, simulator).iteration_time_s, rel=1e-12
    )
    assert predicted.before.iteration_time_s == pytest.approx(
        simulated(plan.job, plan.strategy, plan.fabric, simulator).iteration_time_s, rel=1e-12
    )


def test_transfers_around_a_dead_link_take_what_a_fabric_cut_by_hand_takes(small_plan: MakePlan) -> None:
    plan = small_plan(servers=8, degree=2, tables=8)
    topology = cut(plan.fabric.topology, both((3, 4)))
    predicted = predict(plan, FailedLink(3, 4))
    assert predicted.during.repair is not None
    by_hand = Fabric(
        "topoopt", topology, make_routes("single-shortest", topology), predicted.during.repair.fabric.rings
    )  # on a line there is one way only
    again = simulated(plan.job, plan.strategy, by_hand)
    assert predicted.during.iteration_time_s == pytest.approx(again.iteration_time_s, rel=1e-12)


@pytest.mark.parametrize(
    ("failure", "way", "servers", "degree"),
    [(FailedLink(0, 1), "re-plan", 60, 4), (FailedServer(3), "fewer-servers", 58, 5)],
)
def test_a_repair_wires_anew_by_the_rules_of_the_plan(
    failure: Failure, way: str, servers: int, degree: int
) -> None:
    rules = FinderRules(strides="nearest", routing="k-shortest")
    options = SearchOptions(budget=0, strides=rules.strides, routing=rules.routing, wirings="strides")
    plan = make_plan(job(60, 5, "duplex", tables=0), options, fabrics=())
    traffic = Traffic(servers, (AllReduceGroup(tuple(range(servers)), 10**9),))
    by_rule, usual = (
        find_topology(traffic, degree=degree, bandwidth_bps=25e9, rules=some)
        for some in (rules, FinderRules())
    )
    for again in (plan, plan_from_mapping(plan_to_mapping(plan))):
        repair = next(row for row in predict(again, failure).rows if row.way.name == way).repair
        assert repair is not None
        assert _links(by_rule) <= _links(repair.fabric)
        assert not _links(usual) <= _links(repair.fabric)
        assert repair.fabric.routes.method == "k-shortest"


def _links(fabric: Fabric) -> set[tuple[int, int]]:
    return set(zip(fabric.topology.src.tolist(), fabric.topology.dst.tolist(), strict=True))


@pytest.mark.parametrize("links", ["duplex", "directed"])
@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_what_every_repair_keeps_to(small_plan: MakePlan, links: str, failure: Failure) -> None:
    plan = small_plan(servers=16, degree=4, links=links, tables=4)
    found = predict(plan, failure, look_ahead=True)
    left = found.situation.left
    for row in found.rows:
        if row.repair is None or row.result is None:
            assert row.reason
            assert row.speed == 0
            continue
        topology, repair = row.repair.fabric.topology, row.repair
        for rings in repair.fabric.rings.values():
            for ring in rings:
                assert (topology.link_ids(*ring.edges()) >= 0).all()
        # What is plugged in afterwards is what was left, and the moves; Wiring checks ports and panels.
        if row.way.name == "look-ahead":
            assert repair.wiring == found.situation.wiring
        else:
            there = set(left.patches) - set(repair.removed) | set(repair.made)
            assert there == set(repair.wiring.patches)
            assert not {p for patch in repair.wiring.patches for p in repair.wiring.ports(patch)} & left.dead
        if row.way.name not in ("fewer-servers", "spare"):
            ends = sorted((patch.src, patch.dst) for patch in repair.wiring.patches)
            wired = [
                (int(a), int(b))
                for a, b, ports in zip(topology.src, topology.dst, topology.ports, strict=True)
                for _ in range(int(ports))
                if links == "directed" or a < b
            ]
            assert ends == sorted(wired)
        assert row.result.iteration_time_s >= row.result.compute_time_s * (1 - 1e-12)
    assert found.chosen.speed >= 0.99 * max(row.speed for row in found.rows)


def test_one_dead_link_of_four_costs_a_third_of_the_speed_with_spread_detours(small_plan: MakePlan) -> None:
    plan = small_plan()
    rows = {row.way.name: row for row in predict(plan, FailedLink(0, 1), simulator="flow").rows}
    before = simulated(plan.job, plan.strategy, plan.fabric, "flow")
    exposed = before.exposed_communication_s
    extra = {
        name: row.result.exposed_communication_s / exposed
        for name, row in rows.items()
        if row.result is not None
    }
    # All communication is AllReduce here, a small part of it inside servers. On the network server 0 has three ports
    # of four, or two of four in use; small messages on longer ways add latency to that.
    assert 4 / 3 < extra["spread-detours"] < 1.5
    assert extra["whole-rings"] == pytest.approx(2, abs=0.2)
    assert extra["detour"] == pytest.approx(2, abs=0.2)


def test_a_ring_borrows_a_link_that_is_there_for_transfers(small_plan: MakePlan) -> None:
    plan = small_plan(servers=8, degree=4, links="directed", tables=8)
    rings = [ring for some in plan.fabric.rings.values() for ring in some]
    assert len(rings) < 4, "some links are there for model-parallel traffic alone"
    src, dst = rings[0].walk[0], rings[0].walk[1]
    row = next(row for row in predict(plan, FailedLink(src, dst)).rows if row.way.name == "borrow")
    assert row.repair is not None
    assert row.repair.moved_fibers == 2
    assert row.repair.fabric.topology.link_id(src, dst) >= 0
    assert row.repair.fabric.rings == plan.fabric.rings


def test_a_spare_server_takes_over_every_fiber(small_plan: MakePlan) -> None:
    found = predict(small_plan(), FailedServer(9))
    assert found.during.repair is None
    assert found.chosen.way.name == "spare"
    assert found.chosen.repair is not None
    assert found.chosen.repair.moved_fibers == 4
    assert {16} <= {end for patch in found.chosen.repair.made for end in (patch.src, patch.dst)}
    assert found.chosen.speed == pytest.approx(1.0)


def test_without_a_spare_the_job_goes_on_with_fewer_servers(small_plan: MakePlan) -> None:
    found = predict(small_plan(), FailedServer(9), without_ways=("spare",))
    repair = found.chosen.repair
    assert found.chosen.way.name == "fewer-servers"
    assert repair is not None
    # Cables around 15 servers cannot go through four panels of one interface each.
    assert repair.job.cluster.servers == 14
    assert repair.job.global_batch == 14 / 16 * found.situation.plan.job.global_batch
    assert not repair.wiring.touching([9])
    directed = predict(small_plan(links="directed"), FailedServer(9), without_ways=("spare",)).chosen.repair
    assert directed is not None
    assert directed.job.cluster.servers == 15


def test_what_nothing_repairs(small_plan: MakePlan) -> None:
    with pytest.raises(Infeasible, match=r"nothing repairs server 0 .*replace what has failed"):
        predict(
            small_plan(servers=8, degree=2, tables=8),
            FailedServer(0),
            without_ways=("spare", "fewer-servers"),
        )


def test_only_direct_fabrics_have_links_to_fail(small_plan: MakePlan) -> None:
    plan = small_plan(servers=4, degree=2)
    switch = replace(plan, fabric=build_fabric("ideal-switch", FabricRequest(4, 2, 25e9)))
    with pytest.raises(InvalidInput, match="the plan's fabric is ideal-switch"):
        predict(switch, FailedLink(0, 1))


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_repaired_plan_is_a_plan_file(small_plan: MakePlan, failure: Failure) -> None:
    found = predict(small_plan(tables=4), failure, without_ways=("spare", "look-ahead"))
    document = json.loads(json.dumps(plan_to_mapping(repaired_plan(found))))
    again = plan_from_mapping(document)
    result = simulated(again.job, again.strategy, again.fabric)
    assert result.iteration_time_s == pytest.approx(found.chosen.iteration_time_s, rel=1e-9)
    assert np.isclose(document["iteration_time_s"], result.iteration_time_s, rtol=1e-9)


def chosen(plan: Prediction, name: str) -> float:
    row = next(row for row in plan.rows if row.way.name == name)
    return move_time_s(row.repair, "patch-panel")


def test_the_course_of_a_job_around_a_failure(small_plan: MakePlan) -> None:
    found = predict(small_plan(), FailedServer(9))
    assert chosen(found, "spare") == 30.0  # one fiber on each panel, half a minute
    course, lost_s = phases(found, 4000.0, "patch-panel", restart_s=600.0, checkpoint_s=1800.0)
    assert [(phase.name, phase.start_s, phase.end_s) for phase in course] == [
        ("before", 0.0, 4000.0),
        ("during", 4000.0, 4630.0),
        ("repaired", 4630.0, None),
    ]
    assert course[1].iteration_time_s is None
    assert lost_s == 400.0
    panel = predict(small_plan(), FailedPanel(1), look_ahead=True)
    course, lost_s = phases(panel, 0.0, "3d-mems", restart_s=600.0, checkpoint_s=1800.0)
    assert panel.chosen.way.name == "look-ahead"
    assert course[1].end_s == pytest.approx(0.01)
    assert course[1].iteration_time_s == panel.meanwhile.iteration_time_s
    assert lost_s == 0
    with pytest.raises(InvalidInput, match="times must not be negative"):
        phases(panel, -1.0, "3d-mems", 600.0, 1800.0)
