"""The patch list, played on the present wiring, gives the new one, and no port is ever used twice at a moment."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import topoopt
from topoopt.topologies.wirings import PortedLinks, read_wiring_file

Rows = list[dict[str, str]]


def rows_of(plan: topoopt.Plan, **words: object) -> Rows:
    text = topoopt.export(plan, format="patch-list", **words).files["patch-list.csv"]  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(str(text))))


def circuits(plan: topoopt.Plan) -> set[str]:
    return {row["circuit_id"] for row in rows_of(plan)}


def played(rows: Rows, joined: set[str]) -> set[str]:
    """Do what the rows say, in their order, and watch every port."""
    joined = set(joined)
    taken = {port for one in joined for port in ports(one)}
    for row in rows:
        there = row["circuit_id"]
        assert ports(there) == {(row["ocs"], row["port_a"], "a"), (row["ocs"], row["port_b"], "b")} or (
            "-" in there
        )
        if row["action"] == "disconnect":
            joined.remove(there)
            taken -= ports(there)
        elif row["action"] == "connect":
            assert not ports(there) & taken, f"{there} needs a port that is taken"
            joined.add(there)
            taken |= ports(there)
        else:
            assert row["action"] == "keep"
            assert there in joined
    return joined


def ports(circuit: str) -> set[tuple[str, str, str]]:
    """The ports of a circuit; of a fiber the half that leads in and the half that leads out."""
    panel, _, pair = circuit.partition(":")
    if "-" in pair:
        return {(panel, port, "") for port in pair.split("-")}
    a, b = pair.split(">")
    return {(panel, a, "a"), (panel, b, "b")}


@pytest.mark.parametrize("which", ["plan", "directed_plan"])
def test_the_first_list_comes_from_one_plan_and_connects_every_link(
    which: str, request: pytest.FixtureRequest
) -> None:
    plan: topoopt.Plan = request.getfixturevalue(which)
    rows = rows_of(plan)
    duplex = plan.job.cluster.links == "duplex"
    assert len(rows) == plan.fabric.topology.ports.sum() // (2 if duplex else 1)
    assert {(row["action"], row["step"]) for row in rows} == {("connect", "1")}
    assert played(rows, set()) == {row["circuit_id"] for row in rows}
    named = {(int(row["server_a"][3:]), int(row["server_b"][3:])) for row in rows}
    arcs = set(zip(plan.fabric.topology.src.tolist(), plan.fabric.topology.dst.tolist(), strict=True))
    assert named | ({(b, a) for a, b in named} if duplex else set()) == arcs


@pytest.mark.parametrize("keep_running", [False, True])
def test_the_difference_to_the_present_wiring_leads_to_the_new_one(
    plan: topoopt.Plan, other_plan: topoopt.Plan, keep_running: bool
) -> None:
    rows = rows_of(other_plan, present=plan, keep_running=keep_running)
    now = {row["circuit_id"] for row in rows if row["action"] != "connect"}
    assert now == circuits(plan)
    then = played(rows, now)
    assert then == {row["circuit_id"] for row in rows if row["action"] != "disconnect"}
    assert {row["action"] for row in rows} == {"keep", "disconnect", "connect"}
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(steps)


def test_a_plan_that_is_wired_already_keeps_all(plan: topoopt.Plan) -> None:
    assert {(row["action"], row["step"]) for row in rows_of(plan, present=plan)} == {("keep", "0")}


@pytest.mark.parametrize("which", ["plan", "directed_plan"])
def test_what_is_wired_then_is_what_is_present_the_next_time(
    which: str, other_plan: topoopt.Plan, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """From a first plan to a second and back: circuits that were kept are where they were, not where they could be."""
    first: topoopt.Plan = request.getfixturevalue(which)
    second = other_plan if which == "plan" else first
    wired = circuits(first)
    for number, (now, then) in enumerate([(first, second), (second, first)]):
        present = now if number == 0 else tmp_path / "now" / "wiring.json"
        rows = rows_of(then, present=present)
        wired = played(rows, wired)
        assert wired == {row["circuit_id"] for row in rows if row["action"] != "disconnect"}
        topoopt.export(then, format="patch-list", present=present, out=tmp_path / "now")
    assert {row["action"] for row in rows_of(first, present=tmp_path / "now" / "wiring.json")} == {"keep"}


@pytest.mark.parametrize("which", ["plan", "directed_plan"])
def test_verbs_read_the_wiring_that_a_patch_list_leads_to(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Also where it disconnects what is wired now; links and ports are those of the wiring file beside it."""
    plan: topoopt.Plan = request.getfixturevalue(which)
    words: dict[str, Any] = {"links": plan.job.cluster.links, "fabrics": (), "budget": 0}
    present = topoopt.plan("vgg16", servers=16, degree=plan.job.cluster.degree, wiring="lifted", **words)
    topoopt.export(plan, format="patch-list", present=present, out=tmp_path)
    assert {"disconnect", "connect"} <= {row["action"] for row in rows_of(plan, present=present)}
    listed, wired = (read_wiring_file(tmp_path / name) for name in ("patch-list.csv", "wiring.json"))
    assert (listed[0].links, listed[0].servers, listed[0].degree) == (
        plan.job.cluster.links,
        plan.job.cluster.servers,
        plan.job.cluster.degree,
    )
    assert listed[1] is not None
    assert ends_of(listed[1], plan) == ends_of(wired[1], plan)
    assert topoopt.rewire(tmp_path / "wiring.json", tmp_path / "patch-list.csv").rewiring.moved_fibers == 0
    assert topoopt.verify(tmp_path / "patch-list.csv").passed


def test_the_wiring_file_of_fewer_ports_than_there_are_is_read(
    directed_plan: topoopt.Plan, tmp_path: Path
) -> None:
    words: dict[str, Any] = {"links": "directed", "fabrics": (), "budget": 0}
    present = topoopt.plan("vgg16", servers=16, degree=4, wiring="lifted", **words)
    topoopt.export(directed_plan, format="patch-list", present=present, out=tmp_path)
    made, ports = read_wiring_file(tmp_path / "wiring.json")
    assert ports is not None
    used = 1 + int(max(ports.src_port.max(), ports.dst_port.max()))
    assert directed_plan.job.cluster.degree < used == made.degree


def ends_of(ports: PortedLinks | None, plan: topoopt.Plan) -> list[Any]:
    assert ports is not None
    ends = zip(
        ports.src.tolist(), ports.src_port.tolist(), ports.dst.tolist(), ports.dst_port.tolist(), strict=True
    )
    pairs = (((a, p), (b, q)) for a, p, b, q in ends)
    return (
        sorted(pairs)
        if plan.job.cluster.links == "directed"
        else sorted(tuple(sorted(pair)) for pair in pairs)
    )


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (",connect,", ",conect,", "line 2: action: expected keep, connect, disconnect"),
        ("ens1f0", "", "line 2: nic_"),
    ],
)
def test_a_spoiled_patch_list_is_one_line(
    was: str, now: str, said: str, plan: topoopt.Plan, tmp_path: Path
) -> None:
    text = str(topoopt.export(plan, format="patch-list").files["patch-list.csv"])
    (tmp_path / "patches.csv").write_text(text.replace(was, now, 1))
    with pytest.raises(topoopt.InvalidInput, match=said):
        topoopt.verify(tmp_path / "patches.csv")
