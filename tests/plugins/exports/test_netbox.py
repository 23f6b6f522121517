"""What NetBox imports: rows that refer only to what an earlier file has made, by the columns of its forms."""

import csv
import io

import pytest

import topoopt
from topoopt.base.errors import Infeasible

FORMS = {
    "01-sites.csv": {"name", "slug", "status"},
    "02-manufacturers.csv": {"name", "slug"},
    "03-device-roles.csv": {"name", "slug", "color"},
    "04-device-types.csv": {"manufacturer", "model", "slug", "u_height"},
    "05-racks.csv": {"site", "name", "status", "width", "u_height"},
    "06-devices.csv": {
        *("name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face")
    },
    "07-interfaces.csv": {"device", "name", "type"},
    "08-rear-ports.csv": {"device", "name", "type", "positions"},
    "09-front-ports.csv": {"device", "name", "type", "rear_port", "rear_port_position"},
    "10-cables.csv": {
        *("side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"),
        *("type", "status", "label"),
    },
}
"""The columns that are written, all of them among those of NetBox's import forms."""
Tables = dict[str, list[dict[str, str]]]


def tables(plan: topoopt.Plan, **words: object) -> Tables:
    files = topoopt.export(plan, format="netbox", **words).files  # type: ignore[arg-type]
    return {
        name: list(csv.DictReader(io.StringIO(str(text))))
        for name, text in files.items()
        if name != "README.txt"
    }


@pytest.mark.parametrize("kind", ["manual", "polatis"])
def test_files_refer_to_what_earlier_ones_make(plan: topoopt.Plan, kind: str) -> None:
    made = tables(plan, panels=kind)
    ports = {"manual": set(FORMS), "polatis": set(FORMS) - {"08-rear-ports.csv", "09-front-ports.csv"}}
    assert set(made) == ports[kind]
    for name, rows in made.items():
        assert set(rows[0]) == FORMS[name]
    names = {name: {row["name"] for row in rows if "name" in row} for name, rows in made.items()}
    for row in made["06-devices.csv"]:
        assert row["role"] in names["03-device-roles.csv"]
        assert row["rack"] in names["05-racks.csv"]
        assert row["device_type"] in {one["model"] for one in made["04-device-types.csv"]}
    places = [(row["rack"], row["position"]) for row in made["06-devices.csv"]]
    assert len(set(places)) == len(places)
    terminations = {("dcim.interface", row["device"], row["name"]) for row in made["07-interfaces.csv"]}
    for file, what in (("08-rear-ports.csv", "dcim.rearport"), ("09-front-ports.csv", "dcim.frontport")):
        terminations |= {(what, row["device"], row["name"]) for row in made.get(file, [])}
    used = [
        (row[f"side_{side}_type"], row[f"side_{side}_device"], row[f"side_{side}_name"])
        for row in made["10-cables.csv"]
        for side in "ab"
    ]
    assert set(used) <= terminations
    assert len(set(used)) == len(used)  # a termination has one cable
    assert {device for _, device, _ in terminations} <= names["06-devices.csv"]


def test_following_cables_and_cords_gives_the_links_of_the_plan(plan: topoopt.Plan) -> None:
    rows = tables(plan)["10-cables.csv"]
    fixed = {
        (row["side_b_device"], row["side_b_name"]): int(row["side_a_device"][3:])
        for row in rows
        if row["side_a_type"] == "dcim.interface"
    }
    cords = [row for row in rows if row["side_a_type"] == "dcim.frontport"]
    found = {
        (fixed[row["side_a_device"], row["side_a_name"]], fixed[row["side_b_device"], row["side_b_name"]])
        for row in cords
    }
    arcs = set(zip(plan.fabric.topology.src.tolist(), plan.fabric.topology.dst.tolist(), strict=True))
    assert found | {(b, a) for a, b in found} == arcs


def test_what_is_there_already_is_connected(plan: topoopt.Plan, other_plan: topoopt.Plan) -> None:
    states = {row["label"]: row["status"] for row in tables(other_plan, present=plan)["10-cables.csv"]}
    assert set(states.values()) == {"connected", "planned"}
    assert {row["status"] for row in tables(plan)["10-cables.csv"]} == {"planned"}


def test_interfaces_are_of_the_links_speed(plan: topoopt.Plan) -> None:
    kinds = {row["type"] for row in tables(plan)["07-interfaces.csv"]}
    assert kinds == {"100gbase-x-qsfp28"}


def test_two_fibers_at_a_port_are_refused(directed_plan: topoopt.Plan) -> None:
    with pytest.raises(
        Infeasible, match="netbox: a port of NetBox has one cable, and directed links need two"
    ):
        topoopt.export(directed_plan, format="netbox")
