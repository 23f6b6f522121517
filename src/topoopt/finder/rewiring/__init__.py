"""Rewiring with the fewest moved fibers, and the order of the moves."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.finder.rewiring.fiber_moves import MOVE_COLUMNS as MOVE_COLUMNS
    from topoopt.finder.rewiring.fiber_moves import MoveOrder as MoveOrder
    from topoopt.finder.rewiring.fiber_moves import RewiringTime as RewiringTime
    from topoopt.finder.rewiring.fiber_moves import Step as Step
    from topoopt.finder.rewiring.fiber_moves import move_rows as move_rows
    from topoopt.finder.rewiring.fiber_moves import order_moves as order_moves
    from topoopt.finder.rewiring.fiber_moves import patch_rows as patch_rows
    from topoopt.finder.rewiring.fiber_moves import rewiring_times as rewiring_times
    from topoopt.finder.rewiring.fiber_moves import step_time_s as step_time_s
    from topoopt.finder.rewiring.rewire import Rewiring as Rewiring
    from topoopt.finder.rewiring.rewire import rewire as rewire
    from topoopt.finder.rewiring.wiring import End as End
    from topoopt.finder.rewiring.wiring import Joined as Joined
    from topoopt.finder.rewiring.wiring import Patch as Patch
    from topoopt.finder.rewiring.wiring import Wiring as Wiring
    from topoopt.finder.rewiring.wiring import joined_by as joined_by
    from topoopt.finder.rewiring.wiring import ported as ported
    from topoopt.finder.rewiring.wiring import wire as wire
    from topoopt.finder.rewiring.wiring import wired_in_room as wired_in_room

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
