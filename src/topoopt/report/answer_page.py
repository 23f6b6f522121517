"""The page of any answer: one table from the kind of answer to what describes it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from topoopt.cost import CostComparison
from topoopt.plan import Comparison, Plan
from topoopt.report.comparison_page import comparison_page
from topoopt.report.cost_page import cost_page
from topoopt.report.page import Page
from topoopt.report.plan_page import plan_page

PAGES: Mapping[type, Callable[[Any], Page]] = MappingProxyType(
    {
        Plan: plan_page,
        Comparison: comparison_page,
        CostComparison: cost_page,
    }
)
"""Every kind of answer, and its page."""


def page_of(answer: Any) -> Page:
    """Return what an answer says: what a terminal shows of it, and a notebook. A page is itself.

    Raises
    ------
    TypeError
        If it is no answer of a verb.
    """
    if isinstance(answer, Page):
        return answer
    if type(answer) not in PAGES:
        raise TypeError(f"{type(answer).__name__}: not an answer of a verb")
    return PAGES[type(answer)](answer)
