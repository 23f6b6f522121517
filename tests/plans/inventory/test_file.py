"""The inventory file: what is given stays, what is missing is made up, and mistakes have a line."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.published_schemas import published
from topoopt.base.errors import Infeasible, TopoOptError
from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plans.inventory import (
    Inventory,
    circuits,
    completed,
    inventory_mapping,
    inventory_text,
    read_inventory,
)

ROOT = Path(__file__).parents[3]
DUPLEX, DIRECTED = Wiring("duplex", 2), Wiring("directed", 2)
FULL = inventory_text(completed(DUPLEX, 3))


def read(
    folder: Path, text: str, wiring: Wiring = DUPLEX, servers: int = 3, name: str = "room.yaml"
) -> Inventory:
    (folder / name).write_text(text)
    return completed(wiring, servers, read_inventory(folder / name))


@pytest.mark.parametrize("wiring", [DUPLEX, DIRECTED, Wiring("duplex", 5, 2)], ids=str)
def test_what_is_written_is_read_as_it_was(tmp_path: Path, wiring: Wiring) -> None:
    made = completed(wiring, 40, kind="calient")
    again = read(tmp_path, inventory_text(made), wiring, 40)
    assert again == made
    assert inventory_text(again) == inventory_text(made)


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_json_and_toml_say_the_same(tmp_path: Path, suffix: str) -> None:
    made = completed(DUPLEX, 3)
    text = json.dumps(inventory_mapping(made)) if suffix == ".json" else toml_of(inventory_mapping(made))
    assert read(tmp_path, text, name=f"room{suffix}") == made


def toml_of(document: dict[str, list[dict[str, object]]]) -> str:
    rows = [f"[[{name}]]\n{inline(row)}" for name, some in document.items() for row in some]
    text = "\n".join(rows)
    assert tomllib.loads(text) == document
    return text


def inline(row: dict[str, object]) -> str:
    def value(one: object) -> str:
        if isinstance(one, list):
            return "[" + ", ".join(map(value, one)) + "]"
        if isinstance(one, dict):
            return "{" + ", ".join(f"{key} = {value(inner)}" for key, inner in one.items()) + "}"
        return json.dumps(one)

    return "\n".join(f"{key} = {value(one)}" for key, one in row.items())


def test_a_part_is_completed_by_the_rule(tmp_path: Path) -> None:
    text = """\
servers:
- {name: gpu-a, rack: A7, interfaces: [eth4, {name: mlx0, nic: card, port: 1, rdma_device: mlx5_0}]}
- name: gpu-b
- {name: gpu-c, interfaces: [ens8f1np1, eth5]}
panels:
- {name: ocs, kind: polatis, ports: 8, rack: B1}
cables:
- {server: gpu-b, interface: ens1f1, panel: ocs, port: 2, id: blue}
"""
    made = read(tmp_path, text)
    assert [(one.name, one.rack, one.position) for one in made.servers] == [
        ("gpu-a", "A7", 1),
        ("gpu-b", "rack01", 1),
        ("gpu-c", "rack01", 3),
    ]
    assert [(one.name, one.nic, one.port, one.rdma_device) for one in made.servers[0].interfaces] == [
        ("eth4", "eth4", 0, ""),
        ("mlx0", "card", 1, "mlx5_0"),
    ]
    assert (made.servers[2].interfaces[0].nic, made.servers[2].interfaces[0].port) == ("ens8", 1)
    # one panel for both interfaces of a server; port 2 is taken by what is given
    assert [(one.id, one.server, one.interface, one.port) for one in made.cables] == [
        ("blue", "gpu-b", "ens1f1", 2),
        ("C0001", "gpu-a", "eth4", 1),
        ("C0002", "gpu-a", "mlx0", 3),
        ("C0003", "gpu-b", "ens1f0", 4),
        ("C0004", "gpu-c", "ens8f1np1", 5),
        ("C0005", "gpu-c", "eth5", 6),
    ]
    assert {one.panel for one in made.cables} == {"ocs"}


def test_a_duplex_cable_has_both_fibers_of_directed_links(tmp_path: Path) -> None:
    made = read(tmp_path, FULL, Wiring("directed", 2))
    wiring = Wiring("directed", 2, patches=(Patch(0, 0, 1, 0), Patch(1, 0, 2, 0)))
    first, second = circuits(made, wiring, wiring.patches)
    assert (first.id, second.id) == ("panel0:1>2", "panel0:2>3")
    assert first.cable_b == second.cable_a


def test_servers_beyond_those_of_the_plan_are_spares_with_cables(tmp_path: Path) -> None:
    made = read(tmp_path, "servers: [{name: a}, {name: b}, {name: c}]", servers=2)
    assert made.cable(2, 1, "both").port == 3


def test_no_two_devices_are_in_one_place(tmp_path: Path) -> None:
    servers = "servers: [{name: a}, {name: b, position: 1}, {name: c, rack: rack01}]"
    made = read(tmp_path, f"{servers}\npanels: [{{name: p}}, {{name: q, rack: x}}]")
    assert [(one.rack, one.position) for one in made.servers] == [("rack01", 3), ("rack01", 1), ("rack01", 5)]
    assert [(one.rack, one.position) for one in made.panels] == [("panels", 1), ("x", 1)]


MISTAKES = {
    "a key that is unknown": (
        "panels:\n- name: p\n  potrs: 3",
        'line 3: panels[0]: unknown key "potrs"; did you mean ports or port_names?',
    ),
    "a kind that is unknown": (
        "panels: [{name: p, kind: glass}]",
        'line 1: panels[0].kind: expected manual or polatis or calient or sonic-ocs, got "glass"',
    ),
    "no text": ("servers:\n- name: 7", "line 2: servers[0].name: expected text, got 7"),
    "a comma in a name": (
        "servers:\n- name: a,b",
        'line 2: servers[0].name: expected letters, digits and ._-, at most 64, got "a,b"',
    ),
    "a quote in an interface": (
        "servers:\n- name: a\n  interfaces: ['e\"1', e2]",
        "line 3: servers[0].interfaces[0].name: expected letters, digits, spaces and ._:/+-, at most 64, got ",
    ),
    "fewer names of ports than ports": (
        "panels: [{name: p, ports: 8, port_names: [1.1.1, 1.1.2]}]",
        "line 1: panels[0].port_names: p has 8 ports, got 2 names",
    ),
    "a name of a port twice": (
        "panels: [{name: p, ports: 6, port_names: [a, b, c, d, e, a]}]",
        "line 1: panels[0].port_names: a name of p stands twice",
    ),
    "a name twice": (
        FULL.replace("name: srv002", "name: srv001"),
        "line 8: servers[2].name: srv001 stands twice, first in servers[1]",
    ),
    "an interface twice": (
        "servers:\n- {name: a}\n- {name: b}\n- name: c\n  interfaces: [e1, e1]",
        "line 5: servers[2].interfaces[1].name: e1 stands twice",
    ),
    "a panel twice": ("panels: [{name: p}, {name: p}]", "line 1: panels[1].name: p stands twice"),
    "a cable twice": (FULL.replace("id: C0006", "id: C0001"), "line 18: cables[5].id: C0001 stands twice"),
    "a port that the panel does not have": (
        FULL.replace("kind: manual, ports: 3", "kind: manual, ports: 2", 1),
        "line 17: cables[4].port: panel0 has ports 1..2, got 3",
    ),
    "a panel with too few ports": (
        "servers: [{name: a}, {name: b}, {name: c}]\npanels: [{name: p, ports: 5}]",
        "line 2: panels[0].ports: p has 5, its cables need 6",
    ),
    "a port taken twice": (
        FULL.replace(
            "interface: ens1f0, panel: panel0, port: 3", "interface: ens1f0, panel: panel0, port: 2"
        ),
        "line 17: cables[4].port: port 2 of panel0 is taken by cable C0003",
    ),
    "an interface with two cables": (
        FULL.replace("server: srv002, interface: ens1f0", "server: srv001, interface: ens1f0"),
        "line 17: cables[4].interface: srv001 ens1f0 has cable C0003 already",
    ),
    "a cable of nobody": (
        FULL.replace("server: srv002, interface", "server: srv02, interface", 1),
        'line 17: cables[4].server: there is no "srv02"; did you mean srv002',
    ),
    "a cable to nowhere": (
        FULL.replace("panel: panel1, port: 3", "panel: panel9, port: 3"),
        'line 18: cables[5].panel: there is no "panel9"',
    ),
    "a server missing": (
        "panels: []\nservers:\n- name: a\n- name: b",
        "line 2: servers: 2 are listed, the plan has 3; add the others",
    ),
    "an interface missing": (
        "servers:\n- name: a\n- name: b\n  interfaces: [e1]\n- name: c",
        "line 4: servers[1].interfaces: b has 1, the plan needs 2; add the others",
    ),
    "half a MAC address": (
        'servers:\n- {name: a, interfaces: [{name: e, mac: "1:2"}]}',
        "line 2: servers[0].interfaces[0].mac: expected six pairs of hexadecimal digits such as 02:00:00:00:00:01, "
        'got "1:2"',
    ),
    "no file of ours": ("- 1", "room.yaml: expected a mapping of keys to values, got [1]"),
    "no YAML": ("servers: [", "room.yaml: line 1: not valid YAML"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, name: str) -> None:
    text, message = MISTAKES[name]
    with pytest.raises(TopoOptError) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "room.yaml") in str(caught.value)
    assert message in str(caught.value)


def test_interfaces_on_two_panels_cannot_be_joined(tmp_path: Path) -> None:
    made = read(tmp_path, FULL)
    wiring = Wiring("duplex", 2, 2, (Patch(0, 0, 1, 1),))
    with pytest.raises(
        Infeasible, match=r"cables\[3\].panel: srv001 ens1f1 goes to panel1 and srv000 ens1f0 to"
    ):
        circuits(made, wiring, wiring.patches)


def test_the_published_schema_is_that_of_the_model_and_takes_what_is_written() -> None:
    schema = published("inventory")
    jsonschema.validate(yaml.safe_load(FULL), schema)
    jsonschema.validate({"servers": [{"name": "a", "interfaces": ["e1"]}]}, schema)
    wrong: list[dict[str, object]] = [
        {"severs": []},
        {"servers": [{"name": "a,b"}]},
        {"panels": [{"name": "p", "kind": "glass"}]},
    ]
    for document in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, schema)
