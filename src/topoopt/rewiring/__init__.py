"""From one wiring to the next with the fewest moved fibers, and in which order."""

from topoopt.rewiring.duration import RewiringTime as RewiringTime
from topoopt.rewiring.duration import rewiring_times as rewiring_times
from topoopt.rewiring.duration import step_time_s as step_time_s
from topoopt.rewiring.order import MoveOrder as MoveOrder
from topoopt.rewiring.order import Step as Step
from topoopt.rewiring.order import order_moves as order_moves
from topoopt.rewiring.ported import ported as ported
from topoopt.rewiring.rewire import Rewiring as Rewiring
from topoopt.rewiring.rewire import rewire as rewire
from topoopt.rewiring.room import Joined as Joined
from topoopt.rewiring.room import joined_by as joined_by
from topoopt.rewiring.room import wired_in_room as wired_in_room
from topoopt.rewiring.rows import MOVE_COLUMNS as MOVE_COLUMNS
from topoopt.rewiring.rows import move_rows as move_rows
from topoopt.rewiring.rows import patch_rows as patch_rows
from topoopt.rewiring.wire import wire as wire
from topoopt.rewiring.wiring import End as End
from topoopt.rewiring.wiring import Patch as Patch
from topoopt.rewiring.wiring import Wiring as Wiring
