"""What a report is about: a plan, a comparison or a cluster, told apart by the content of the file."""

from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.clusters import ClusterResult, result_from_mapping
from topoopt.pages.answer_page import page_of
from topoopt.pages.page import Page
from topoopt.pages.plan_page import plan_report
from topoopt.plans import COMPARISON_FORMAT, Comparison, Plan, comparison_from_mapping, plan_from_mapping
from topoopt.schema.files import read_json

Subject = Plan | Comparison | ClusterResult

ALLOWED = (
    "expected what topoopt plan --out, topoopt compare --json or topoopt cluster run --json wrote: "
    "a JSON file of a plan, a comparison or a cluster"
)


def read_subject(path: str | Path) -> Subject:
    """Return what a file holds.

    Raises
    ------
    InvalidInput
        In one line, if the file cannot be read, is no JSON, or holds something else.
    """
    return subject_from_mapping(read_json(path, ALLOWED), str(path))


def subject_from_mapping(document: Any, place: str = "report") -> Subject:
    """Return the plan, comparison or cluster that a document describes; errors as :func:`read_subject`."""
    if not isinstance(document, dict):
        raise InvalidInput(f"{place}: a {type(document).__name__}; {ALLOWED}")
    if "schema" in document and str(document["schema"]).startswith("topoopt-plan"):
        return plan_from_mapping(document, place)
    kind = document.get("format")
    if kind == "topoopt-cluster":
        return result_from_mapping(document, place)
    if kind == COMPARISON_FORMAT or (kind is None and "simulators" in document and "fabrics" in document):
        return comparison_from_mapping(document, place)
    got = f'"{kind}"' if kind is not None else "something else"
    raise InvalidInput(f"{place}: {got}; {ALLOWED}")


def make_page(answer: Any) -> Page:
    """Return the whole report of an answer; of a plan with its pictures."""
    return plan_report(answer) if isinstance(answer, Plan) else page_of(answer)
