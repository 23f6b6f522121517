"""``topoopt serving-fabrics``: which split and which wiring answer users in time, for the least money."""

from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.cli.llm.estimate import TransformerArgument
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import show
from topoopt.cli.spread import spread
from topoopt.words import File, ServingFabricsWords, panel


@panel("Output")
class ServingPlanWords(TypedDict, total=False):
    """What is written."""

    out: File
    """Write the cables, routes and traffic of topoopt's row as a plan, for export, report, verify and simulate."""
    report: File
    """Write the answer as one HTML page, with maps of who sends what to whom."""


@spread
def serving_fabrics(
    words: ServingFabricsWords,
    files: ServingPlanWords,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Say which split, wiring and fabric serve a model in time, for the least money.

    Prompts are read by one pool and answered by another, or both by one; where keys and values go is chosen with the
    cables.
    """
    out, page = files.get("out"), files.get("report")
    check_writable(out, "--out")
    check_writable(page, "--report")
    with progress("splits") as tell:
        answer = topoopt.serving_fabrics(source, on_progress=tell, **words)
    if out is not None:
        topoopt.write_plan(out, topoopt.serving_plan(answer))
    if page is not None:
        topoopt.report(answer, out=page)
    show(answer, as_json, written=(out, page))
