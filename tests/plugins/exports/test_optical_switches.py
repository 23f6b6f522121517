"""What optical switches are told, played on models of them, ends in exactly the plan's circuits."""

import json
import re
from typing import Any

import jsonschema
import pytest

import topoopt
from tests.plugins.exports.switches import Calient, Path, Polatis, patched, ways
from topoopt.base.errors import Infeasible

KINDS = ("polatis", "calient", "sonic-ocs")
CASES = ("first", "directed", "changed", "changed while a job runs")
OCS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["DEVICE_METADATA", "OCS_PORT", "OCS_CROSS_CONNECT"],
    "properties": {
        "DEVICE_METADATA": {"const": {"localhost": {"type": "SonicOCS", "switch_type": "ocs"}}},
        "OCS_PORT": {
            "type": "object",
            "propertyNames": {"pattern": "^[0-9]+[AB]$"},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["label", "state"],
                "properties": {
                    "label": {"type": "string"},
                    "state": {"enum": ["normal", "force_blocked", "powered_off"]},
                },
            },
        },
        "OCS_CROSS_CONNECT": {
            "type": "object",
            "propertyNames": {"pattern": "^[0-9]+A-[0-9]+B$"},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["a_side", "b_side"],
                "properties": {"a_side": {"pattern": "^[0-9]+A$"}, "b_side": {"pattern": "^[0-9]+B$"}},
            },
        },
    },
}
PATCH_SCHEMA = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["op", "path"],
        "additionalProperties": False,
        "properties": {
            "op": {"enum": ["add", "remove"]},
            "path": {"pattern": "^/OCS_CROSS_CONNECT/[0-9]+A-[0-9]+B$"},
            "value": {"type": "object"},
        },
        "if": {"properties": {"op": {"const": "add"}}},
        "then": {"required": ["value"]},
    },
}
RESTCONF_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["optical-switch:cross-connects"],
    "properties": {
        "optical-switch:cross-connects": {
            "type": "object",
            "additionalProperties": False,
            "required": ["pair"],
            "properties": {
                "pair": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["ingress", "egress"],
                        "properties": {
                            "ingress": {"type": "integer", "minimum": 1},
                            "egress": {"type": "integer", "minimum": 1},
                        },
                    },
                }
            },
        }
    },
}
CALIENT_SCHEMA = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["in", "out", "dir"],
        "properties": {
            "in": {"pattern": r"^[0-9]+\.[0-9]+\.[1-8]$"},
            "out": {"pattern": r"^[0-9]+\.[0-9]+\.[1-8]$"},
            "dir": {"enum": ["bi", "uni"]},
        },
    },
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[topoopt.Plan, dict[str, Any]]:
    """A plan, and what is wired before."""
    if request.param == "first":
        return request.getfixturevalue("plan"), {}
    if request.param == "directed":
        return request.getfixturevalue("directed_plan"), {}
    present = request.getfixturevalue("plan")
    return request.getfixturevalue("other_plan"), {
        "present": present,
        "keep_running": request.param != "changed",
    }


def exported(plan: topoopt.Plan, kind: str, words: dict[str, Any]) -> dict[str, str]:
    files = topoopt.export(plan, format=kind, **{"panels": kind, **words}).files
    return {name: str(data) for name, data in files.items()}


def light(plan: topoopt.Plan | None) -> dict[str, set[Path]]:
    """The ways of light through each panel when a plan is wired, from the plan's circuits alone."""
    joined: dict[str, set[Path]] = {}
    for one in topoopt.export(plan, format="patch-list").deployment.circuits if plan is not None else ():
        there = (one.port_a, one.port_b)
        joined.setdefault(one.panel, set()).update([there, there[::-1]] if one.duplex else [there])
    return joined


def wanted(plan: topoopt.Plan, words: dict[str, Any]) -> dict[str, set[Path]]:
    joined: dict[str, set[Path]] = {}
    for one in topoopt.export(plan, format="patch-list", **words).deployment.circuits:
        there = (one.port_a, one.port_b)
        joined.setdefault(one.panel, set()).update([there, there[::-1]] if one.duplex else [there])
    return joined


def steps(files: dict[str, str], panel: str) -> list[str]:
    """The names of a panel's step files, in the order in which they are to be sent."""
    numbered = [(re.match(rf"{panel}-step(\d+)[-.](delete|add|patch)", name), name) for name in files]
    found = [(int(match[1]), match[2] == "add", name) for match, name in numbered if match]
    return [name for *_, name in sorted(found)]


def test_polatis_ends_in_the_plans_circuits_by_each_protocol(
    case: tuple[topoopt.Plan, dict[str, Any]],
) -> None:
    plan, words = case
    files, before, after = exported(plan, "polatis", words), light(words.get("present")), wanted(plan, words)
    for panel, joined in after.items():
        by_scpi, by_tl1, by_put = (Polatis(16, before.get(panel, set())) for _ in range(3))
        for line in files[f"{panel}.scpi"].splitlines():
            by_scpi.scpi(line)
        for line in files[f"{panel}.tl1"].splitlines():
            by_tl1.tl1(line)
        jsonschema.validate(json.loads(files[f"{panel}.restconf.json"]), RESTCONF_SCHEMA)
        by_put.restconf(files[f"{panel}.restconf.json"])
        assert by_scpi.joined == by_tl1.joined == by_put.joined == joined


def test_calient_ends_in_the_plans_circuits(case: tuple[topoopt.Plan, dict[str, Any]]) -> None:
    plan, words = case
    files, after = exported(plan, "calient", words), wanted(plan, words)
    number = {f"1.{1 + k // 8}.{1 + k % 8}": k + 1 for k in range(16)}
    name = {port: text for text, port in number.items()}
    for panel, joined in after.items():
        here = {
            f"{name[a]}-{name[b]}": [(a, b), (b, a)]
            for a, b in light(words.get("present")).get(panel, set())
            if a < b
        }
        switch = Calient(here, number)
        for file in steps(files, panel):
            if file.endswith("-delete.json"):
                switch.delete(files[file])
            else:
                jsonschema.validate(json.loads(files[file]), CALIENT_SCHEMA)
                switch.add(files[file])
        assert switch.joined == joined


def test_sonic_ends_in_the_plans_circuits(case: tuple[topoopt.Plan, dict[str, Any]]) -> None:
    plan, words = case
    files, before, after = (
        exported(plan, "sonic-ocs", words),
        light(words.get("present")),
        wanted(plan, words),
    )
    for panel, joined in after.items():
        database = json.loads(files[f"{panel}.config_db.json"])
        jsonschema.validate(database, OCS_SCHEMA)
        assert ways(database["OCS_CROSS_CONNECT"]) == joined
        table = {f"{a}A-{b}B": {"a_side": f"{a}A", "b_side": f"{b}B"} for a, b in before.get(panel, ())}
        document: dict[str, Any] = {"OCS_CROSS_CONNECT": table}
        for file in steps(files, panel):
            operations = json.loads(files[file])
            jsonschema.validate(operations, PATCH_SCHEMA)
            document = patched(document, operations)
            ways(document["OCS_CROSS_CONNECT"])
        assert document["OCS_CROSS_CONNECT"] == database["OCS_CROSS_CONNECT"]


def test_a_duplex_link_is_two_entries_of_sonic_and_its_ports_are_labeled(plan: topoopt.Plan) -> None:
    database = json.loads(exported(plan, "sonic-ocs", {})["panel0.config_db.json"])
    assert {"1A-2B", "2A-1B"} <= set(database["OCS_CROSS_CONNECT"])
    assert database["OCS_PORT"]["2A"] == {"label": "srv001 ens1f0 TX", "state": "normal"}
    assert database["OCS_PORT"]["2B"]["label"] == "srv001 ens1f0 RX"


def test_ports_are_called_as_the_inventory_says(plan: topoopt.Plan, tmp_path: Any) -> None:
    names = ", ".join(f"3.2.{k}" for k in range(1, 65))
    (tmp_path / "room.yaml").write_text(f"panels: [{{name: ocs, kind: calient, port_names: [{names}]}}]")
    files = exported(plan, "calient", {"panels": None, "inventory": tmp_path / "room.yaml"})
    assert json.loads(files["ocs-step1-add.json"])[0] == {"in": "3.2.1", "out": "3.2.5", "dir": "bi"}


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_panel_of_the_kind_the_format_says_how_to_get_one(plan: topoopt.Plan, kind: str) -> None:
    message = f"{kind}: no panel is {kind}, they are manual; say so in the inventory, or with panels={kind}"
    with pytest.raises(Infeasible) as caught:
        topoopt.export(plan, format=kind)
    assert str(caught.value) == message


@pytest.mark.parametrize(("kind", "most"), [("polatis", 576), ("calient", 320)])
def test_a_panel_that_no_device_can_be_is_refused(
    plan: topoopt.Plan, tmp_path: Any, kind: str, most: int
) -> None:
    (tmp_path / "room.yaml").write_text(f"panels: [{{name: p, kind: {kind}, ports: {most + 1}}}]")
    message = f"p has {most + 1} ports, the largest {kind} device {most}; use more panels"
    with pytest.raises(Infeasible, match=message):
        topoopt.export(plan, format=kind, inventory=tmp_path / "room.yaml")
