"""A collective on a wiring: steps and bytes of every schedule, which is the quickest for which size, and the bound."""

from topoopt.frontier.answer import CollectiveAnswer as CollectiveAnswer
from topoopt.frontier.ask import collective_answer as collective_answer
from topoopt.frontier.envelope import Crossing as Crossing
from topoopt.frontier.schedules import OPERATIONS as OPERATIONS
from topoopt.frontier.schedules import SCHEDULES as SCHEDULES
from topoopt.frontier.way import Way as Way
from topoopt.frontier.wiring import WIRED_DIRECTLY as WIRED_DIRECTLY
from topoopt.frontier.wiring import Wiring as Wiring
from topoopt.frontier.wiring import family_wiring as family_wiring
from topoopt.frontier.wiring import stride_wiring as stride_wiring
from topoopt.frontier.wiring import wiring_of as wiring_of
from topoopt.frontier.wiring_file import read_wiring as read_wiring
