"""``topoopt fail``: cost of a failure, its repair, and availability over a month of failures."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import FailWords, File, panel


@panel("One failure")
class FailFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the repaired plan."""


@spread
def fail(
    plan: Annotated[str, Argument(metavar="PLAN", help="A plan file.")],
    words: FailWords,
    files: FailFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fail a link, server or panel of a plan: iteration time before, during and after repair, and moves.

    With --availability, parts fail at random; the answer gives the shares of a month at full speed, degraded and down,
    for the plan's own fabric and for its baselines.
    """
    out = files.get("out")
    if out is not None and words["availability"]:
        raise InvalidInput("--out: writes the plan after one failure; it does not go with --availability")
    check_writable(out, "--out")
    with progress("simulating") as report:
        answer = topoopt.fail(plan, on_progress=report, **words)
    if out is not None and isinstance(answer, topoopt.FailureAnswer):
        topoopt.write_plan(out, answer.repaired_plan())
    show(answer, as_json, () if out is None else (f"The repaired plan is in {out}.",))
