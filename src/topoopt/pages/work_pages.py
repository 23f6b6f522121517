"""The parts of a page by kind of work."""

from collections.abc import Mapping

from topoopt.pages.operators_page import OPERATORS_PAGE
from topoopt.pages.traffic_page import TRAFFIC_PAGE
from topoopt.pages.transformer_page import TRANSFORMER_PAGE
from topoopt.pages.work_page import WorkPage
from topoopt.plans import Plan

WORK_PAGES: Mapping[str, WorkPage] = {
    "operators": OPERATORS_PAGE,
    "traffic": TRAFFIC_PAGE,
    "transformer": TRANSFORMER_PAGE,
}


def work_page(plan: Plan) -> WorkPage:
    """Return what there is to say of the plan's kind of work."""
    return WORK_PAGES[plan.job.work.kind]
