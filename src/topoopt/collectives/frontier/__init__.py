"""A collective on a wiring: steps and bytes of every schedule, which is the quickest for which size, and the bound."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.collectives.frontier.answer import CollectiveAnswer as CollectiveAnswer
    from topoopt.collectives.frontier.answer import Crossing as Crossing
    from topoopt.collectives.frontier.answer import collective_answer as collective_answer
    from topoopt.collectives.frontier.schedules import OPERATIONS as OPERATIONS
    from topoopt.collectives.frontier.schedules import SCHEDULES as SCHEDULES
    from topoopt.collectives.frontier.schedules import Way as Way
    from topoopt.collectives.frontier.wiring import WIRED_DIRECTLY as WIRED_DIRECTLY
    from topoopt.collectives.frontier.wiring import Wiring as Wiring
    from topoopt.collectives.frontier.wiring import family_wiring as family_wiring
    from topoopt.collectives.frontier.wiring import read_wiring as read_wiring
    from topoopt.collectives.frontier.wiring import stride_wiring as stride_wiring
    from topoopt.collectives.frontier.wiring import wiring_of as wiring_of

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
