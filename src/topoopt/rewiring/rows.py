"""Patches and moves as rows that people and programs read."""

from typing import Any

from topoopt.rewiring.order import MoveOrder
from topoopt.rewiring.wiring import Patch, Wiring

MOVE_COLUMNS = ("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface")


def patch_row(wiring: Wiring, patch: Patch) -> dict[str, int]:
    """Return the panel of a patch and what it joins."""
    return {
        "panel": wiring.panel_of(patch),
        "from_server": patch.src,
        "from_interface": patch.src_interface,
        "to_server": patch.dst,
        "to_interface": patch.dst_interface,
    }


def move_rows(wiring: Wiring, order: MoveOrder) -> list[tuple[Any, ...]]:
    """Return the moves as rows of :data:`MOVE_COLUMNS`, of each step first what is unplugged."""
    return [
        (number, action, *patch_row(wiring, patch).values())
        for number, step in enumerate(order.steps, 1)
        for action, patches in (("unplug", step.unplug), ("plug", step.plug))
        for patch in patches
    ]
