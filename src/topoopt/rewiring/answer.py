"""The noun of an answer about rewiring: which fibers move, in which order, and how long that takes."""

from dataclasses import dataclass
from typing import Any

from topoopt.door import shows_itself
from topoopt.frame import Frame, frame
from topoopt.rewiring.duration import RewiringTime
from topoopt.rewiring.order import MoveOrder
from topoopt.rewiring.rewire import Rewiring
from topoopt.rewiring.rows import MOVE_COLUMNS, move_rows, patch_rows
from topoopt.wirings import DIRECTED_WARNING


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class RewiringAnswer:
    """From one plan to the next with the fewest moved fibers; ``old`` and ``new`` are what the plans are called.

    Attributes
    ----------
    relabeling : bool
        Whether the servers were free to take other ranks.
    """

    old: str
    new: str
    rewiring: Rewiring
    order: MoveOrder
    times: tuple[RewiringTime, ...]
    relabeling: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before moving anything."""
        return (DIRECTED_WARNING,) if self.rewiring.old.links == "directed" else ()

    def moves(self) -> list[tuple[Any, ...]]:
        """Return every move, in order, as rows of :data:`~topoopt.rewiring.MOVE_COLUMNS`."""
        return move_rows(self.rewiring.old, self.order)

    def to_frame(self) -> Frame:
        """Return a row for each move; needs pandas."""
        return frame(dict(zip(MOVE_COLUMNS, row, strict=True)) for row in self.moves())

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
            "keep_running": order.keep_running,
            "steps_that_cut": order.cuts,
            "steps": [
                {
                    "unplug": patch_rows(wiring, step.unplug),
                    "plug": patch_rows(wiring, step.plug),
                    "reached_share": step.reached,
                }
                for step in order.steps
            ],
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
