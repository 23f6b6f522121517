"""The noun of an answer about rewiring: which fibers move, in which order, and how long that takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from topoopt.base.door import shows_itself
from topoopt.base.frame import Frame, frame
from topoopt.finder.rewiring import (
    MOVE_COLUMNS,
    MoveOrder,
    Patch,
    Rewiring,
    RewiringTime,
    Wiring,
    move_rows,
    patch_rows,
)
from topoopt.plans.inventory.circuit import Circuit, circuits
from topoopt.plans.inventory.inventory import Inventory
from topoopt.plans.inventory.moves import Move, circuit_names, moves
from topoopt.topologies.wirings import DIRECTED_WARNING

NAME_COLUMNS = (
    "panel_name",
    *(
        f"{end}_{key}"
        for end in ("from", "to")
        for key in ("server_name", "interface_name", "cable", "panel_port")
    ),
)
"""Columns of names behind those of numbers, of a table of moves."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class RewiringAnswer:
    """From one plan to the next with the fewest moved fibers; ``old`` and ``new`` are what the plans are called.

    Attributes
    ----------
    relabeling : bool
        Whether the servers were free to take other ranks.
    inventory : Inventory
        What the servers, panels and cables of the room are called.
    """

    old: str
    new: str
    rewiring: Rewiring
    order: MoveOrder
    times: tuple[RewiringTime, ...]
    relabeling: bool
    inventory: Inventory

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before moving anything."""
        return (DIRECTED_WARNING,) if self.rewiring.old.links == "directed" else ()

    def moves(self) -> list[tuple[Any, ...]]:
        """Return what is unplugged and plugged, in order: :data:`~topoopt.finder.rewiring.MOVE_COLUMNS`, then the
        names."""
        named = (self._circuits(some) for step in self.order.steps for some in (step.unplug, step.plug))
        names = [tuple(circuit_names(one).values()) for some in named for one in some]
        return [
            (*row, *more) for row, more in zip(move_rows(self.rewiring.old, self.order), names, strict=True)
        ]

    def named_moves(self) -> list[Move]:
        """Return what is done at the panels, step by step."""
        return [
            move
            for number, step in enumerate(self.order.steps, 1)
            for move in moves(self.inventory, self._circuits(step.unplug), self._circuits(step.plug), number)
        ]

    def to_frame(self) -> Frame:
        """Return a row for each move; needs pandas."""
        columns = (*MOVE_COLUMNS, *NAME_COLUMNS)
        return frame(dict(zip(columns, row, strict=True)) for row in self.moves())

    def _circuits(self, patches: Iterable[Patch]) -> tuple[Circuit, ...]:
        return circuits(self.inventory, self.rewiring.old, patches)

    def _rows(self, patches: tuple[Patch, ...]) -> list[dict[str, Any]]:
        return named_patch_rows(self.inventory, self.rewiring.old, patches)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt rewire --json``."""
        moves, order, wiring = self.rewiring, self.order, self.rewiring.old
        return {
            "old": self.old,
            "new": self.new,
            "servers": len(moves.servers),
            "degree": wiring.degree,
            "links": wiring.links,
            "panels": wiring.panels,
            "interfaces_per_panel": wiring.interfaces_per_panel,
            "fibers_before": len(wiring.patches),
            "fibers_after": len(moves.new.patches),
            "kept_fibers": len(wiring.patches) - len(moves.removed),
            "moved_fibers": moves.moved_fibers,
            "lower_bound": moves.lower_bound,
            "gap": moves.gap,
            "relabeled": moves.relabeled,
            "server_of_rank": list(moves.servers),
            "server_name_of_rank": [self.inventory.servers[server].name for server in moves.servers],
            "keep_running": order.keep_running,
            "steps_that_cut": order.cuts,
            "steps": [
                {
                    "unplug": self._rows(step.unplug),
                    "plug": self._rows(step.plug),
                    "reached_share": step.reached,
                }
                for step in order.steps
            ],
            "moves_at_panels": [move.to_json() for move in self.named_moves()],
            "time": [
                {
                    "technology": row.technology.name,
                    "ports": row.ports,
                    "fits": row.fits,
                    "time_s": row.time_s,
                }
                for row in self.times
            ],
            "warnings": list(self.warnings),
        }


def named_patch_rows(
    inventory: Inventory, wiring: Wiring, patches: tuple[Patch, ...]
) -> list[dict[str, Any]]:
    """Return the panel of each patch and what it joins, by number and by name."""
    named = circuits(inventory, wiring, patches)
    numbers = patch_rows(wiring, patches)
    return [{**row, **circuit_names(one)} for row, one in zip(numbers, named, strict=True)]
