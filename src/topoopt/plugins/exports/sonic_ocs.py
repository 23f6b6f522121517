"""SONiC on an optical switch: its configuration database, and JSON patches from what is joined now.

A port has two sides, kA into the switch and kB out of it, and a cross-connect leads one way, so that a duplex circuit
is two of them (sonic-mgmt, L1 switch configuration; the high-level design of SONiC for OCS has the same tables).
"""

import json
from typing import Any

from topoopt.plans.inventory import Panel
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.panel_steps import PanelSteps, Path, paths, steps_of_kind

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
    labels = _labels(deployment)
    for one in steps_of_kind(deployment, "sonic-ocs"):
        files[f"{one.panel.name}.config_db.json"] = _json(_database(one, labels))
        for step in one.steps:
            removed = [{"op": "remove", "path": _place(one.panel, path)} for path in sorted(paths(step.gone))]
            added = [
                {"op": "add", "path": _place(one.panel, path), "value": _sides(one.panel, path)}
                for path in sorted(paths(step.come))
            ]
            files[f"{one.panel.name}-step{step.number}.patch.json"] = _json([*removed, *added])
    return files


def _database(one: PanelSteps, labels: dict[tuple[str, int, str], str]) -> dict[str, Any]:
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
    return {
        "DEVICE_METADATA": {"localhost": {"type": "SonicOCS", "switch_type": "ocs"}},
        "OCS_PORT": ports,
        "OCS_CROSS_CONNECT": {_key(panel, path): _sides(panel, path) for path in joined},
    }


def _labels(deployment: Deployment) -> dict[tuple[str, int, str], str]:
    """Return what hangs on each side of each port: an interface sends into side A, and hears from side B."""
    labels = {}
    for cable in deployment.inventory.cables:
        for side, way, verb in (("A", "out", "TX"), ("B", "in", "RX")):
            if cable.side in ("both", way):
                labels[cable.panel, cable.port, side] = f"{cable.server} {cable.interface} {verb}"
    return labels


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
