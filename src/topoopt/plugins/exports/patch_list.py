"""The neutral patch list: which ports of which panel are joined, what is joined now, and in which order to change it.

In a step every row that disconnects comes before those that connect, so that no port is asked for twice.
"""

import csv
import io
from collections.abc import Iterator

from topoopt.plans.inventory import Circuit, circuits
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.node_link import node_link
from topoopt.plugins.exports.work_order import work_order

COLUMNS = (
    *("ocs", "port_a", "port_b", "server_a", "nic_a", "server_b", "nic_b"),
    *("circuit_id", "action", "step"),
)
Row = tuple[str, int, int, str, str, str, str, str, str, int]


def patch_list(deployment: Deployment) -> Contents:
    """Return the patch list as CSV, the work order for people, and the wiring that they lead to.

    What stays has step 0; without a present wiring all is connected in step 1. The wiring file is what is present
    the next time: a plan alone would be taken to be wired into an empty room, which is not how it got there.
    """
    rows = patch_list_rows(deployment)
    return {"patch-list.csv": _csv(rows), "work-order.txt": work_order(deployment), **node_link(deployment)}


def patch_list_rows(deployment: Deployment) -> list[Row]:
    """Return a row of :data:`COLUMNS` for every circuit that stays, goes or comes; of a panel by its ports."""
    rank = {panel.name: place for place, panel in enumerate(deployment.inventory.panels)}

    def place(entry: tuple[int, str, Circuit]) -> tuple[int, bool, int, int]:
        step, action, circuit = entry
        return step, action == "connect", rank[circuit.panel], circuit.port_a

    rows = sorted(_actions(deployment), key=place)
    return [_row(circuit, action, step) for step, action, circuit in rows]


def _actions(deployment: Deployment) -> Iterator[tuple[int, str, Circuit]]:
    if deployment.present is None or deployment.order is None:
        yield from ((1, "connect", circuit) for circuit in deployment.circuits)
        return
    made = {patch for step in deployment.order.steps for patch in step.plug}
    named = dict(zip(deployment.wiring.patches, deployment.circuits, strict=True))
    yield from ((0, "keep", circuit) for patch, circuit in named.items() if patch not in made)
    for number, step in enumerate(deployment.order.steps, 1):
        gone = circuits(deployment.inventory, deployment.present, step.unplug)
        yield from ((number, "disconnect", circuit) for circuit in gone)
        come = circuits(deployment.inventory, deployment.wiring, step.plug)
        yield from ((number, "connect", circuit) for circuit in come)


def _row(circuit: Circuit, action: str, step: int) -> Row:
    a, b = circuit.cable_a, circuit.cable_b
    ends = (a.server, a.interface, b.server, b.interface)
    return (circuit.panel, a.port, b.port, *ends, circuit.id, action, step)


def _csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()
