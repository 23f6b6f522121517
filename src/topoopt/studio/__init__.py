"""The live page: a question answered at once, plans wired while one looks on, over HTTP."""

from typing import TYPE_CHECKING

from topoopt.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the libraries of the server are an extra
    from topoopt.studio.address import StudioAddress as StudioAddress
    from topoopt.studio.answer import answer_question as answer_question
    from topoopt.studio.app import Studio as Studio
    from topoopt.studio.app import make_app as make_app
    from topoopt.studio.estimate import FabricEstimate as FabricEstimate
    from topoopt.studio.estimate import Sketch as Sketch
    from topoopt.studio.estimate import StudioAnswer as StudioAnswer
    from topoopt.studio.estimate import command_line as command_line
    from topoopt.studio.installed import check_installed as check_installed
    from topoopt.studio.plan_desk import PlanDesk as PlanDesk
    from topoopt.studio.plan_state import PlanState as PlanState
    from topoopt.studio.question import Question as Question
    from topoopt.studio.question import question_of as question_of
    from topoopt.studio.server import serve as serve

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
