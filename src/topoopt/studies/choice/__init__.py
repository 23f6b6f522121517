"""Choice of a network for a mix of jobs: every degree, bandwidth and fabric, cost against time."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.studies.choice.choose import Choice as Choice
    from topoopt.studies.choice.choose import LeastTimes as LeastTimes
    from topoopt.studies.choice.choose import Question as Question
    from topoopt.studies.choice.choose import choose as choose
    from topoopt.studies.choice.choose import write_choice as write_choice
    from topoopt.studies.choice.decision import BUDGET as BUDGET
    from topoopt.studies.choice.decision import DEADLINE as DEADLINE
    from topoopt.studies.choice.decision import DROPPED as DROPPED
    from topoopt.studies.choice.decision import KNEE as KNEE
    from topoopt.studies.choice.decision import LEFT_OUT as LEFT_OUT
    from topoopt.studies.choice.decision import PLANNED as PLANNED
    from topoopt.studies.choice.decision import PRICE as PRICE
    from topoopt.studies.choice.decision import Decision as Decision
    from topoopt.studies.choice.decision import Evaluated as Evaluated
    from topoopt.studies.choice.decision import Limits as Limits
    from topoopt.studies.choice.decision import Turn as Turn
    from topoopt.studies.choice.decision import buyable as buyable
    from topoopt.studies.choice.decision import decide as decide
    from topoopt.studies.choice.decision import front_of as front_of
    from topoopt.studies.choice.decision import turns as turns
    from topoopt.studies.choice.decision import work_usd as work_usd
    from topoopt.studies.choice.explore import Explored as Explored
    from topoopt.studies.choice.explore import Store as Store
    from topoopt.studies.choice.explore import explore as explore
    from topoopt.studies.choice.explore import swept_times as swept_times
    from topoopt.studies.choice.job_mix import JobShare as JobShare
    from topoopt.studies.choice.job_mix import Machines as Machines
    from topoopt.studies.choice.job_mix import Mix as Mix
    from topoopt.studies.choice.job_mix import read_mix as read_mix
    from topoopt.studies.choice.network import Money as Money
    from topoopt.studies.choice.network import Network as Network
    from topoopt.studies.choice.network import Owner as Owner
    from topoopt.studies.choice.network import network_grid as network_grid
    from topoopt.studies.choice.network import priced as priced

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
