"""The work order names every cable once, in walking order, and its cords lead to the plan."""

import re
from pathlib import Path

import topoopt

CABLE = re.compile(
    r"  \[ \] plug cable (\w+): (rack\d+) unit (\d+), server (\w+) port (\w+) -> (\w+) unit (\d+), (\w+) port (\d+)"
)
CORD = re.compile(
    r"  \[ \] (\w+): (unplug the cord|plug a cord|move the cord of)(?: from)? port (\d+) \(\w+, \w+ \w+\) "
    r"(?:to port (\d+)|from port (\d+) to port (\d+)) \(\w+, \w+ \w+\)"
)


def work_order(plan: topoopt.Plan, **words: object) -> str:
    return str(topoopt.export(plan, format="patch-list", **words).files["work-order.txt"])  # type: ignore[arg-type]


def test_every_cable_is_run_once_rack_by_rack(plan: topoopt.Plan) -> None:
    rows = [found.groups() for found in map(CABLE.fullmatch, work_order(plan).splitlines()) if found]
    answer = topoopt.export(plan, format="inventory")
    assert len(rows) == 64
    assert {row[0] for row in rows} == {cable.id for cable in answer.deployment.inventory.cables}
    assert rows[5] == ("C0006", "rack01", "3", "srv001", "ens1f1", "panels", "5", "panel1", "2")
    places = [(row[1], int(row[2])) for row in rows]
    assert places == sorted(places)


def test_racks_are_in_the_order_of_their_numbers(plan: topoopt.Plan, tmp_path: Path) -> None:
    racks = "\n".join(f"- {{name: s{number}, rack: row{10 - number % 2 * 8}}}" for number in range(16))
    (tmp_path / "room.yaml").write_text(f"servers:\n{racks}")
    order = re.findall(r": (row\d+) unit", work_order(plan, inventory=tmp_path / "room.yaml"))
    assert order == ["row2"] * 32 + ["row10"] * 32


def played(text: str, joined: set[tuple[str, int, int]]) -> set[tuple[str, int, int]]:
    joined = set(joined)
    come = []
    for line in text.splitlines():
        found = CORD.fullmatch(line)
        if found is None:
            continue
        panel, what, port, to, old, new = found.groups()
        ends = (int(port), int(to or old))
        if what != "plug a cord":
            joined.remove((panel, min(ends), max(ends)))
        if what != "unplug the cord":
            there = int(to or new)
            come.append((panel, min(int(port), there), max(int(port), there)))
    for panel, a, b in come:
        assert not [one for one in joined if one[0] == panel and {a, b} & set(one[1:])]
        joined.add((panel, a, b))
    return joined


def circuits(plan: topoopt.Plan, **words: object) -> set[tuple[str, int, int]]:
    made = topoopt.export(plan, format="patch-list", **words).deployment.circuits  # type: ignore[arg-type]
    return {(one.panel, *sorted((one.port_a, one.port_b))) for one in made}  # type: ignore[misc]


def test_cords_lead_to_the_plan(plan: topoopt.Plan, other_plan: topoopt.Plan) -> None:
    assert played(work_order(plan), set()) == circuits(plan)
    text = work_order(other_plan, present=plan)
    assert "plug cable" not in text  # all of them carry something already
    assert played(text, circuits(plan)) == circuits(other_plan, present=plan)


def test_circuits_inside_a_switch_are_no_work_for_hands(plan: topoopt.Plan) -> None:
    text = work_order(plan, panels="polatis")
    assert "cord from" not in text
    assert "8 circuits are changed by the files of format polatis" in text


def test_fibers_one_way_are_told_apart(directed_plan: topoopt.Plan) -> None:
    text = work_order(directed_plan)
    assert "plug cable C0001 (transmit fiber): rack01 unit 1, server srv000" in text
    assert "plug cable C0002 (receive fiber): rack01 unit 1, server srv000" in text
