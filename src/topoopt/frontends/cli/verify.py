"""``topoopt verify``: a plan, or a wiring, proved before anyone plugs a fiber."""

from typing import Annotated, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.frontends.cli.exit_code import USER_MISTAKE
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.word_flags import spread


class VerifyWords(TypedDict, total=False):
    """Values that a file may omit."""

    degree: int
    """Ports per server of a graph that does not state them and leaves some idle."""


@spread
def verify(
    words: VerifyWords,
    plan: Annotated[
        str, Argument(metavar="PLAN", help="A plan, a wiring file, or a schedule in MSCCL's XML.")
    ],
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Verify a plan or a wiring before it is cabled; exit code 2 if a check fails."""
    with progress("verifying") as report:
        answer = topoopt.verify(plan, on_progress=report, **words)
    show(answer, as_json)
    for line in answer.lines():
        echo(f"error: {topoopt.TopoOptError(line)}", err=True)
    if not answer.passed:
        raise Exit(USER_MISTAKE)
