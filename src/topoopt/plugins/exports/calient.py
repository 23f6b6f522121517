"""Calient optical switches: cross-connects by REST, as bodies of the messages that add and delete many at once."""

import json

from topoopt.plans.inventory import Circuit, Panel
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.panel_steps import steps_of_kind

LARGEST = 320  # Calient S320
PORTS_OF_A_MODULE = 8
_README = """\
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


def calient(deployment: Deployment) -> Contents:
    """Return the bodies for every Calient switch, a file for all that goes and one for all that comes in a step.

    Raises
    ------
    Infeasible
        If no panel is one, or has more ports than the largest.
    """
    files: dict[str, str | bytes] = {"README.txt": _README}
    for one in steps_of_kind(deployment, "calient", LARGEST):
        for step in one.steps:
            name = f"{one.panel.name}-step{step.number}"
            if step.gone:
                files[f"{name}-delete.json"] = _json([{"conn": _name(one.panel, it)} for it in step.gone])
            if step.come:
                files[f"{name}-add.json"] = _json([_entry(one.panel, it) for it in step.come])
    return files


def port_name(panel: Panel, port: int) -> str:
    """Return what a switch calls a port: as the inventory says, or shelf 1, module and port of eight."""
    if panel.port_names:
        return panel.port_names[port - 1]
    module, place = divmod(port - 1, PORTS_OF_A_MODULE)
    return f"1.{module + 1}.{place + 1}"


def _entry(panel: Panel, it: Circuit) -> dict[str, str]:
    a, b = port_name(panel, it.port_a), port_name(panel, it.port_b)
    return {"in": a, "out": b, "dir": "bi" if it.duplex else "uni"}


def _name(panel: Panel, it: Circuit) -> str:
    return f"{port_name(panel, it.port_a)}{'-' if it.duplex else '>'}{port_name(panel, it.port_b)}"


def _json(entries: list[dict[str, str]]) -> str:
    rows = ",\n ".join(json.dumps(entry) for entry in entries)
    return f"[{rows}]\n"
