"""SONiC on an optical switch: its configuration database, and JSON patches from the present circuits.

A port has two sides, kA into the switch and kB out of it, and a cross-connect leads one way, so that a duplex circuit
is two of them (sonic-mgmt, L1 switch configuration; the high-level design of SONiC for OCS has the same tables).

Polatis optical switches: cross-connects by RESTCONF, SCPI and TL1.

An N × N switch has N inputs, numbered 1 to N, and N outputs, numbered N+1 to 2N: a port k of the inventory is input k
and output N+k, and a cable is two paths. The messages are those that public clients of these switches send.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring import Step
from topoopt.plans.inventory import Circuit, Panel, circuits
from topoopt.plugins.exports.deployment import Contents, Deployment

Path = tuple[int, int]
"""Ports that light goes between, in this direction: in at the first, out at the second."""


@dataclass(frozen=True, slots=True)
class PanelStep:
    """Changes of one panel in one step: first all circuits are removed, then all are made."""

    number: int
    gone: tuple[Circuit, ...]
    come: tuple[Circuit, ...]


@dataclass(frozen=True, slots=True)
class PanelSteps:
    """The circuits of a plan on one panel, and the changes from the present ones."""

    panel: Panel
    circuits: tuple[Circuit, ...]
    steps: tuple[PanelStep, ...]


LARGEST_CALIENT = 320  # Calient S320
PORTS_OF_A_MODULE = 8
_CALIENT_README = """\
Cross-connects for Calient optical switches
===========================================

PANEL-stepN-delete.json   take away, to be sent before the other of the same step:
    curl -u USER:PASSWORD -X POST -H 'Content-Type: application/json' \\
      --data @PANEL-stepN-delete.json 'http://ADDRESS/rest/crossconnects/?id=bdel'
PANEL-stepN-add.json      join:
    curl -u USER:PASSWORD -X POST -H 'Content-Type: application/json' \\
      --data @PANEL-stepN-add.json 'http://ADDRESS/rest/crossconnects/?id=badd'
Then look at what there is:  curl -u USER:PASSWORD 'http://ADDRESS/rest/crossconnects/?id=list'

Ports are SHELF.MODULE.PORT, 8 to a module. Unless the inventory has the panel's "port_names", port k is taken to be
1.M.P with M = (k-1) div 8 + 1 and P = (k-1) mod 8 + 1; compare that with  http://ADDRESS/rest/ports/?id=summary
"dir" is "bi" for a duplex link; "uni" leads from "in" to "out". A connection is named IN-OUT or IN>OUT. Some firmware
asks for a group besides: add  "group": "SYSTEM"  to every entry then.
Changes begin with what --present said is joined now; without it the ports are taken to be free.
These messages come from public client programs, and were not tried on a switch by topoopt.
"""
LARGEST_POLATIS = 576  # Polatis 7000: 576 × 576
_POLATIS_README = """\
Cross-connects for Polatis optical switches
===========================================

A panel of N ports is a switch of N x N: port k of the inventory is input k and output N+k. So the panel's "ports" in
the inventory must be the switch's own size; ask it with  :oxc:swit:size?  A duplex link is two paths, there and back.

PANEL.restconf.json   all cross-connects of the switch, in one message:
    curl -u USER:PASSWORD -X PUT -H 'Content-Type: application/yang-data+json' \\
      --data @PANEL.restconf.json http://ADDRESS:8008/api/data/optical-switch:cross-connects
  PUT replaces everything that is on the switch, circuits of others, too. One lab reports that entries which were
  POSTed in place of PUT vanish after about five seconds.

PANEL.scpi            only what changes, step by step: conn:sub takes away, conn:add joins. Send it line by line over
                      TCP or serial, and go on after each question only if its answer is without an error.

PANEL.tl1             the same changes for TL1, port 3082, after a login such as  ACT-USER::USER:1::PASSWORD;

Changes begin with what --present said is joined now. Without it the switch is taken to be empty:
check with  :oxc:swit:conn:stat?  or  RTRV-PATCH:::123:;
These messages come from public client programs, and were not tried on a switch by topoopt.
"""
_README = """\
Cross-connects for optical switches that run SONiC
==================================================

PANEL.config_db.json       the tables of this plan as they are at last: DEVICE_METADATA, OCS_PORT, OCS_CROSS_CONNECT.
                           Put them into the switch's own config_db.json in place of these tables, then
                           sudo config reload
PANEL-stepN.patch.json     a JSON patch (RFC 6902) of the cross-connects of one step, those that go first:
                           sudo config apply-patch PANEL-stepN.patch.json

Port k has two sides: kA is where light goes into the switch, kB where it comes out. A cross-connect leads from an A to
a B side, so a duplex link is two. If the inventory has the panel's "port_names", these stand in place of k.
Patches begin with what --present said is joined now; without it the table OCS_CROSS_CONNECT is taken to be there, and
empty. Parts of the design are still open: its newer drafts call the key "state" of a port "config_status"; compare
with what your image says:  sudo sonic-db-cli CONFIG_DB hgetall 'OCS_PORT|1A'
These tables follow the public design, and were not tried on a switch by topoopt.
"""


def sonic_ocs(deployment: Deployment) -> Contents:
    """Return the configuration of every SONiC switch, and the patches of each step.

    Raises
    ------
    Infeasible
        If no panel is one.
    """
    files: dict[str, str | bytes] = {"README.txt": _README}
    # what hangs on each side of each port: an interface sends into side A, and hears from side B
    labels = {}
    for cable in deployment.inventory.cables:
        for side, way, verb in (("A", "out", "TX"), ("B", "in", "RX")):
            if cable.side in ("both", way):
                labels[cable.panel, cable.port, side] = f"{cable.server} {cable.interface} {verb}"
    for one in steps_of_kind(deployment, "sonic-ocs"):
        panel = one.panel
        ports = {
            f"{_port(panel, port)}{side}": {
                "label": labels.get((panel.name, port, side), "free"),
                "state": "normal",
            }
            for port in range(1, panel.ports + 1)
            for side in "AB"
        }
        joined = sorted(paths(one.circuits))
        database = {
            "DEVICE_METADATA": {"localhost": {"type": "SonicOCS", "switch_type": "ocs"}},
            "OCS_PORT": ports,
            "OCS_CROSS_CONNECT": {_key(panel, path): _sides(panel, path) for path in joined},
        }
        files[f"{one.panel.name}.config_db.json"] = _json(database)
        for step in one.steps:
            removed = [{"op": "remove", "path": _place(one.panel, path)} for path in sorted(paths(step.gone))]
            added = [
                {"op": "add", "path": _place(one.panel, path), "value": _sides(one.panel, path)}
                for path in sorted(paths(step.come))
            ]
            files[f"{one.panel.name}-step{step.number}.patch.json"] = _json([*removed, *added])
    return files


def _port(panel: Panel, port: int) -> str:
    return panel.port_names[port - 1] if panel.port_names else str(port)


def _sides(panel: Panel, path: Path) -> dict[str, str]:
    return {"a_side": f"{_port(panel, path[0])}A", "b_side": f"{_port(panel, path[1])}B"}


def _key(panel: Panel, path: Path) -> str:
    return "-".join(_sides(panel, path).values())


def _place(panel: Panel, path: Path) -> str:
    return "/OCS_CROSS_CONNECT/" + _key(panel, path).replace("~", "~0").replace("/", "~1")


def _json(document: Any) -> str:
    return json.dumps(document, indent=1) + "\n"


def polatis(deployment: Deployment) -> Contents:
    """Return RESTCONF, SCPI and TL1 for every Polatis switch.

    Raises
    ------
    Infeasible
        If no panel is one, or has more ports than the largest.
    """
    files: dict[str, str | bytes] = {"README.txt": _POLATIS_README}
    for one in steps_of_kind(deployment, "polatis", LARGEST_POLATIS):
        name = one.panel.name
        files[f"{name}.restconf.json"] = _restconf(one)
        files[f"{name}.scpi"] = "".join(f"{line}\n" for line in _scpi(one))
        files[f"{name}.tl1"] = "".join(f"{line}\n" for line in _tl1(one))
    return files


def _restconf(one: PanelSteps) -> str:
    pairs = [{"ingress": a, "egress": b} for a, b in _pairs(one.panel, one.circuits)]
    return json.dumps({"optical-switch:cross-connects": {"pair": pairs}}, indent=1) + "\n"


def _scpi(one: PanelSteps) -> Iterable[str]:
    yield ":oxc:swit:size?"
    for step in one.steps:
        for verb, some in (("sub", step.gone), ("add", step.come)):
            if some:
                inputs, outputs = zip(*_pairs(one.panel, some), strict=True)
                ports = ",".join(f"(@{','.join(map(str, side))})" for side in (inputs, outputs))
                yield f":oxc:swit:conn:{verb} {ports}"
                yield ":syst:err:all?"
    yield ":oxc:swit:conn:stat?"


def _tl1(one: PanelSteps) -> Iterable[str]:
    for step in one.steps:
        yield from (f"DLT-PATCH::{a}:123:;" for a, _ in _pairs(one.panel, step.gone))
        yield from (f"ENT-PATCH::{a},{b}:123:;" for a, b in _pairs(one.panel, step.come))
    yield "RTRV-PATCH:::123:;"


def _pairs(panel: Panel, some: tuple[Circuit, ...]) -> list[tuple[int, int]]:
    return sorted((a, panel.ports + b) for a, b in paths(some))


def calient(deployment: Deployment) -> Contents:
    """Return the bodies for every Calient switch, a file for all that goes and one for all that comes in a step.

    Raises
    ------
    Infeasible
        If no panel is one, or has more ports than the largest.
    """
    files: dict[str, str | bytes] = {"README.txt": _CALIENT_README}
    for one in steps_of_kind(deployment, "calient", LARGEST_CALIENT):
        for step in one.steps:
            name = f"{one.panel.name}-step{step.number}"
            if step.gone:
                files[f"{name}-delete.json"] = _polatis_json(
                    [{"conn": _name(one.panel, it)} for it in step.gone]
                )
            if step.come:
                files[f"{name}-add.json"] = _polatis_json([_entry(one.panel, it) for it in step.come])
    return files


def port_name(panel: Panel, port: int) -> str:
    """Return a switch's name of a port: from the inventory, or shelf 1, module and port of eight."""
    if panel.port_names:
        return panel.port_names[port - 1]
    module, place = divmod(port - 1, PORTS_OF_A_MODULE)
    return f"1.{module + 1}.{place + 1}"


def _entry(panel: Panel, it: Circuit) -> dict[str, str]:
    a, b = port_name(panel, it.port_a), port_name(panel, it.port_b)
    return {"in": a, "out": b, "dir": "bi" if it.duplex else "uni"}


def _name(panel: Panel, it: Circuit) -> str:
    return f"{port_name(panel, it.port_a)}{'-' if it.duplex else '>'}{port_name(panel, it.port_b)}"


def _polatis_json(entries: list[dict[str, str]]) -> str:
    rows = ",\n ".join(json.dumps(entry) for entry in entries)
    return f"[{rows}]\n"


def steps_of_kind(deployment: Deployment, kind: str, most_ports: int | None = None) -> tuple[PanelSteps, ...]:
    """Return the commands for each panel of a kind.

    Parameters
    ----------
    most_ports : int, optional
        Ports of the largest device of that kind.

    Raises
    ------
    Infeasible
        If no panel is of that kind, or one has more ports than any device.
    """
    panels = [panel for panel in deployment.inventory.panels if panel.kind == kind]
    if not panels:
        others = ", ".join(sorted({panel.kind for panel in deployment.inventory.panels}))
        raise Infeasible(
            f"no panel is {kind}, they are {others}; say so in the inventory, or with panels={kind}"
        )
    for panel in panels:
        if most_ports is not None and panel.ports > most_ports:
            raise Infeasible(
                f"{panel.name} has {panel.ports} ports, the largest {kind} device {most_ports}; use more panels"
            )
    return tuple(_steps(deployment, panel) for panel in panels)


def paths(some: tuple[Circuit, ...]) -> list[Path]:
    """Return the light paths of circuits: both directions for a duplex one."""
    there = [(one.port_a, one.port_b) for one in some]
    return there + [(one.port_b, one.port_a) for one in some if one.duplex]


def _steps(deployment: Deployment, panel: Panel) -> PanelSteps:
    inventory = deployment.inventory
    order = (
        (Step((), deployment.wiring.patches, 1.0),) if deployment.order is None else deployment.order.steps
    )
    before = deployment.present or deployment.wiring
    steps = (
        PanelStep(
            number,
            _on(panel, circuits(inventory, before, step.unplug)),
            _on(panel, circuits(inventory, deployment.wiring, step.plug)),
        )
        for number, step in enumerate(order, 1)
    )
    changes = tuple(step for step in steps if step.gone or step.come)
    return PanelSteps(panel, _on(panel, deployment.circuits), changes)


def _on(panel: Panel, some: tuple[Circuit, ...]) -> tuple[Circuit, ...]:
    return tuple(one for one in some if one.panel == panel.name)
