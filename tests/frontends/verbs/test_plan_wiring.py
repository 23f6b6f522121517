"""A plan on a wiring that is given: its cables, its rings, its digest, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topoopt
from topoopt.base.answers import digest
from topoopt.schema.files import read_bytes

QUICK: dict[str, Any] = {"fabrics": (), "budget": 20}


def _links(plan: topoopt.Plan) -> list[list[int]]:
    topology = plan.fabric.topology
    return [column.tolist() for column in (topology.src, topology.dst, topology.ports)]


@pytest.fixture
def lifted(tmp_path: Path) -> Path:
    path = tmp_path / "lifted.json"
    topoopt.write_wiring(path, topoopt.topology(16, 4, family="lifted", budget=0.1))
    return path


@pytest.mark.parametrize("split", ["proportional", "all-to-allreduce", "by-group"])
def test_every_cable_stays_where_the_file_has_it(lifted: Path, split: str) -> None:
    plan = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(lifted), degree_split=split, **QUICK)
    file = json.loads(lifted.read_text())
    ends = {
        (link[a], link[b]) for link in file["links"] for a, b in (("source", "target"), ("target", "source"))
    }
    src, dst, _ = _links(plan)
    assert set(zip(src, dst, strict=True)) == ends
    assert plan.provenance.inputs["lifted.json"] == digest(read_bytes(lifted))
    walks = {tuple(ring["walk"]) for ring in file["graph"]["rings"]}
    rings = plan.fabric.rings[tuple(range(16))]
    turned = {tuple(np.roll(walk, -walk.index(0)).tolist()) for walk in walks}
    assert turned <= {ring.members for ring in rings}
    assert len(rings) == 4


def test_a_plan_its_wiring_file_and_a_plan_on_that_are_one_fabric(lifted: Path, tmp_path: Path) -> None:
    plan = topoopt.plan("dlrm", servers=16, degree=4, wiring=lifted, **QUICK)
    topoopt.write_plan(tmp_path / "plan.json", plan)
    topoopt.write_wiring(tmp_path / "again.json", topoopt.topology(file=str(tmp_path / "plan.json")))
    again = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(tmp_path / "again.json"), **QUICK)
    assert _links(again) == _links(plan)
    assert again.outcome.iteration_time_s == plan.outcome.iteration_time_s
    assert sorted(ring.members for ring in again.fabric.rings[tuple(range(16))]) == sorted(
        ring.members for ring in plan.fabric.rings[tuple(range(16))]
    )
    assert json.loads((tmp_path / "again.json").read_text())["graph"]["family"] == "lifted"


def test_a_file_without_rings_gets_those_that_are_found(tmp_path: Path) -> None:
    path = tmp_path / "kautz.json"
    topoopt.write_wiring(path, topoopt.topology(12, 3, links="directed", family="kautz"))
    file = json.loads(path.read_text())
    file["graph"]["rings"] = []
    path.write_text(json.dumps(file))
    plan = topoopt.plan("dlrm", servers=12, degree=3, links="directed", wiring=str(path), **QUICK)
    rings = plan.fabric.rings[tuple(range(12))]
    assert (len(rings), {ring.walk == ring.members for ring in rings}) == (3, {True})
    list_of_cables = tmp_path / "cables.txt"
    list_of_cables.write_text("\n".join(f"{i} {(i + step) % 9}" for i in range(9) for step in (1, 2)))
    plan = topoopt.plan("dlrm", servers=9, degree=4, wiring=str(list_of_cables), **QUICK)
    assert len(plan.fabric.rings[tuple(range(9))]) == 4


def test_odd_ports_keep_their_rings_of_half_the_rate(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    topoopt.write_wiring(path, topoopt.topology(16, 5, family="lifted", budget=0.1))
    plan = topoopt.plan("dlrm", servers=16, degree=5, wiring=str(path), **QUICK)
    topoopt.write_plan(tmp_path / "plan.json", plan)
    answer = topoopt.topology(file=str(tmp_path / "plan.json"))
    assert isinstance(answer, topoopt.WiringAnswer)
    assert sorted(ring.share for ring in answer.wiring.rings) == [0.5, 0.5, 0.5, 1.0]
    topoopt.write_wiring(tmp_path / "again.json", answer)
    again = topoopt.plan("dlrm", servers=16, degree=5, wiring=str(tmp_path / "again.json"), **QUICK)
    assert again.outcome.iteration_time_s == plan.outcome.iteration_time_s


def test_traffic_and_compare_take_it_too(lifted: Path) -> None:
    moved = topoopt.traffic("dlrm", servers=16, degree=4, wiring=str(lifted))
    plan = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(lifted), **QUICK)
    assert moved.fabric.topology.src.tolist() == plan.fabric.topology.src.tolist()
    rows = topoopt.compare("dlrm", servers=16, degree=4, wiring=str(lifted), fabrics=["torus"], budget=20)
    assert rows.fabrics[0].outcome.iteration_time_s == plan.outcome.iteration_time_s
    with pytest.raises(topoopt.InvalidInput, match="wiring: plan is a plan, whose cables are fixed"):
        topoopt.compare(plan, wiring=str(lifted))


def test_jobs_of_traffic_stay_on_it(lifted: Path, tmp_path: Path) -> None:
    matrix = np.full((16, 16), 10**6)
    np.fill_diagonal(matrix, 0)
    np.save(tmp_path / "traffic.npy", matrix)
    plan = topoopt.plan(tmp_path / "traffic.npy", degree=4, wiring=str(lifted), fabrics=())
    on_file = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(lifted), **QUICK)
    assert _links(plan) == _links(on_file)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"servers": 12}, "joins 16 servers of 4 duplex ports; asked for 12 servers of 4 duplex ports"),
        ({"degree": 6}, "joins 16 servers of 4 duplex ports; asked for 16 servers of 6 duplex ports"),
        (
            {"links": "directed"},
            "joins 16 servers of 4 duplex ports; asked for 16 servers of 4 directed ports",
        ),
        ({"wiring": "none.json"}, "none.json: no such file"),
        ({"wiring": "lifetd"}, 'wiring: unknown name "lifetd"; did you mean lifted'),
        ({"wiring": "slim-fly"}, "wiring slim-fly: there is none for 16 servers of 4"),
        ({"wiring": ""}, "wiring: expected a family such as lifted"),
    ],
)
def test_a_wiring_for_others_is_one_line(lifted: Path, words: dict[str, Any], message: str) -> None:
    asked = {"servers": 16, "degree": 4, "wiring": str(lifted), **QUICK, **words}
    with pytest.raises(topoopt.TopoOptError, match=message):
        topoopt.plan("dlrm", **asked)


def test_a_file_that_changed_is_read_again(lifted: Path) -> None:
    one = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(lifted), **QUICK)
    topoopt.write_wiring(lifted, topoopt.topology(16, 4, wirings="strides"))
    other = topoopt.plan("dlrm", servers=16, degree=4, wiring=str(lifted), **QUICK)
    assert _links(one) != _links(other)


def test_a_plans_strategy_is_simulated_on_another_wiring(lifted: Path, tmp_path: Path) -> None:
    plan = topoopt.plan("dlrm", servers=16, degree=4, wirings="strides", **QUICK)
    on_file = topoopt.plan("dlrm", servers=16, degree=4, wiring=lifted, **QUICK)
    for wiring in (lifted, str(lifted), "lifted", "expander", "torus"):
        again = topoopt.simulate(plan, wiring=wiring, simulator="analytic")
        assert 0.5 < again.iteration_time_s / plan.outcome.iteration_time_s < 2
    there = topoopt.simulate(on_file, simulator="flow").iteration_time_s
    again = topoopt.simulate(on_file, simulator="flow", wiring=lifted)
    assert again.iteration_time_s == pytest.approx(there, rel=0.1)  # routes of the plan are balanced
    with pytest.raises(
        topoopt.InvalidInput, match="joins 16 servers of 4 duplex ports; asked for 16 servers of 6"
    ):
        topoopt.simulate(plan, wiring=lifted, degree=6)
    with pytest.raises(topoopt.InvalidInput, match="wiring: not for the fabric torus; it is for topoopt"):
        topoopt.simulate(plan, wiring=lifted, fabric="torus")
    with pytest.raises(topoopt.InvalidInput, match="strides: are a wiring of their own"):
        topoopt.simulate(plan, wiring=lifted, strides="1,5")


def test_strides_by_name_are_the_usual_choice() -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=4, wiring="strides", **QUICK)
    assert plan.strides == (1, 3)


def test_a_list_of_cables_may_leave_ports_idle(tmp_path: Path) -> None:
    path = tmp_path / "cables.txt"
    ring = [f"{i} {(i + 1) % 8}" for i in range(8)]
    path.write_text("\n".join([*ring, "0 4", "1 5"]))
    plan = topoopt.plan("dlrm", servers=8, degree=3, wiring=path, **QUICK)
    assert int(plan.fabric.topology.ports.sum()) == 2 * 10
    with pytest.raises(
        topoopt.InvalidInput, match="line 9: server 0 has 2 ports out, and this would be port 3"
    ):
        topoopt.plan("dlrm", servers=8, degree=2, wiring=path, **QUICK)
    with pytest.raises(
        topoopt.InvalidInput, match="joins 8 servers of 3 duplex ports; asked for 8 servers of 4"
    ):
        topoopt.plan("dlrm", servers=8, degree=4, wiring=path, **QUICK)
