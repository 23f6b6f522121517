"""The live page: immediate answers to questions, and plans with live progress, over HTTP."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the libraries of the server are an extra
    from topoopt.frontends.web.address import StudioAddress as StudioAddress
    from topoopt.frontends.web.address import check_address as check_address
    from topoopt.frontends.web.address import check_installed as check_installed
    from topoopt.frontends.web.answer import answer_question as answer_question
    from topoopt.frontends.web.estimate import FabricEstimate as FabricEstimate
    from topoopt.frontends.web.estimate import Sketch as Sketch
    from topoopt.frontends.web.estimate import StudioAnswer as StudioAnswer
    from topoopt.frontends.web.estimate import command_line as command_line
    from topoopt.frontends.web.handlers import Studio as Studio
    from topoopt.frontends.web.handlers import make_app as make_app
    from topoopt.frontends.web.plan_desk import PlanDesk as PlanDesk
    from topoopt.frontends.web.plan_desk import PlanState as PlanState
    from topoopt.frontends.web.question import Question as Question
    from topoopt.frontends.web.question import question_of as question_of
    from topoopt.frontends.web.question import request_of_question as request_of_question
    from topoopt.frontends.web.server import serve as serve

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
