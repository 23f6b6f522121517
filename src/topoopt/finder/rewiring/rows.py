"""Patches and moves as rows that people and programs read."""

from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

from topoopt.finder.rewiring.order import MoveOrder
from topoopt.finder.rewiring.wiring import Patch, Wiring

MOVE_COLUMNS = ("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface")


def patch_rows(wiring: Wiring, patches: Iterable[Patch]) -> list[dict[str, int]]:
    """Return the panel of each patch and what it joins."""
    return [
        dict(zip(MOVE_COLUMNS[2:], (wiring.panel_of(patch), *astuple(patch)), strict=True))
        for patch in patches
    ]


def move_rows(wiring: Wiring, order: MoveOrder) -> list[tuple[Any, ...]]:
    """Return the moves as rows of :data:`MOVE_COLUMNS`, of each step first what is unplugged."""
    return [
        (number, action, wiring.panel_of(patch), *astuple(patch))
        for number, step in enumerate(order.steps, 1)
        for action, patches in (("unplug", step.unplug), ("plug", step.plug))
        for patch in patches
    ]
