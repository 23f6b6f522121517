"""From one wiring to the next with the fewest moved fibers, and in which order."""

from topoopt.finder.rewiring.duration import RewiringTime as RewiringTime
from topoopt.finder.rewiring.duration import rewiring_times as rewiring_times
from topoopt.finder.rewiring.duration import step_time_s as step_time_s
from topoopt.finder.rewiring.order import MoveOrder as MoveOrder
from topoopt.finder.rewiring.order import Step as Step
from topoopt.finder.rewiring.order import order_moves as order_moves
from topoopt.finder.rewiring.ported import ported as ported
from topoopt.finder.rewiring.rewire import Rewiring as Rewiring
from topoopt.finder.rewiring.rewire import rewire as rewire
from topoopt.finder.rewiring.room import Joined as Joined
from topoopt.finder.rewiring.room import joined_by as joined_by
from topoopt.finder.rewiring.room import wired_in_room as wired_in_room
from topoopt.finder.rewiring.rows import MOVE_COLUMNS as MOVE_COLUMNS
from topoopt.finder.rewiring.rows import move_rows as move_rows
from topoopt.finder.rewiring.rows import patch_rows as patch_rows
from topoopt.finder.rewiring.wire import wire as wire
from topoopt.finder.rewiring.wiring import End as End
from topoopt.finder.rewiring.wiring import Patch as Patch
from topoopt.finder.rewiring.wiring import Wiring as Wiring
