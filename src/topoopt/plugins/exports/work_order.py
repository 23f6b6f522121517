"""The work order: the patch list for people, cable by cable and panel by panel, in the order in which one walks."""

import re
from collections.abc import Iterable, Iterator

from topoopt.plans.inventory import Cable, Inventory, Panel, circuits, moves
from topoopt.plugins.exports.deployment import Deployment

_HEAD = """\
Work order
==========
A cable from a server to a panel is run once and stays. What a plan changes is on the panel: patch cords on the front of
a manual one, circuits inside an optical switch, which are made by its files and not by hand.
"""


def work_order(deployment: Deployment) -> str:
    """Return what is to be done by hand: cables that nothing has used so far, then the cords of each step."""
    lines = [_HEAD]
    lines += _section("Cables to run", cable_lines(deployment.inventory, _new_cables(deployment)))
    for title, some in _cords(deployment):
        lines += _section(title, some)
    return "\n".join(lines) + "\n"


def cable_lines(inventory: Inventory, cables: Iterable[Cable]) -> list[str]:
    """Return ``plug cable C0412: rack03 unit 7, server srv017 port ens1f1 -> …`` for each, in walking order."""
    panels = inventory.panel_of_name
    return [
        f"plug cable {cable.id}{_fiber(cable)}: {_place(inventory, cable)}, server {cable.server} port "
        f"{cable.interface} -> {panels[cable.panel].rack} unit {panels[cable.panel].position}, {cable.panel} port "
        f"{cable.port}"
        for cable in walking_order(inventory, cables)
    ]


def walking_order(inventory: Inventory, cables: Iterable[Cable]) -> list[Cable]:
    """Return cables rack by rack, from the bottom up, each server's by its interfaces."""
    place = {
        (server.name, interface.name): (_natural(server.rack), server.position, number, index)
        for number, server in enumerate(inventory.servers)
        for index, interface in enumerate(server.interfaces)
    }
    return sorted(cables, key=lambda cable: (place[cable.server, cable.interface], cable.side != "out"))


def _new_cables(deployment: Deployment) -> list[Cable]:
    """Return the cables that the plan needs and that carry nothing now."""
    there = () if deployment.present is None else deployment.present.patches
    used = circuits(deployment.inventory, deployment.present or deployment.wiring, there)
    carrying = {cable.id for one in used for cable in (one.cable_a, one.cable_b)}
    needed = (cable for one in deployment.circuits for cable in (one.cable_a, one.cable_b))
    return list({cable.id: cable for cable in needed if cable.id not in carrying}.values())


def _cords(deployment: Deployment) -> Iterator[tuple[str, list[str]]]:
    """Yield a title and lines for each step at each panel, panels in the order of their racks."""
    inventory = deployment.inventory
    if deployment.order is None or deployment.present is None:
        made = moves(inventory, (), deployment.circuits)
    else:
        made = tuple(
            move
            for number, step in enumerate(deployment.order.steps, 1)
            for move in moves(
                inventory,
                circuits(inventory, deployment.present, step.unplug),
                circuits(inventory, deployment.wiring, step.plug),
                number,
            )
        )
    for step in sorted({move.step for move in made}):
        for panel in sorted(inventory.panels, key=_panel_place):
            some = [move for move in made if move.step == step and move.cable.panel == panel.name]
            where = f"Step {step} at {panel.name} ({panel.rack} unit {panel.position})"
            if some and panel.kind == "manual":
                what = (
                    ", first pull out every end that goes, then plug in" if any(m.old for m in some) else ""
                )
                yield where + what, [str(move) for move in some]
            elif some:
                yield where, [f"{len(some)} circuits are changed by the files of format {panel.kind}"]


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}: {len(lines)}", *(f"  [ ] {line}" for line in lines), ""] if lines else []


def _place(inventory: Inventory, cable: Cable) -> str:
    server = inventory.server_of_name[cable.server]
    return f"{server.rack} unit {server.position}"


def _panel_place(panel: Panel) -> tuple[list[tuple[int, str]], int, str]:
    return _natural(panel.rack), panel.position, panel.name


def _fiber(cable: Cable) -> str:
    return {"out": " (transmit fiber)", "in": " (receive fiber)"}.get(cable.side, "")


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts rack2 before rack10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]
