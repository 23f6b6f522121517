"""``topoopt testbed up``: a plan's network on this machine, to stay."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import TestbedWords


@spread
def up(
    words: TestbedWords,
    plan: Annotated[
        str | None,
        Argument(
            metavar="PLAN", show_default=False, help="A plan file; the paper's 12 servers if not given."
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put a plan's network up on this machine: a namespace a server, a veth pair a link, the plan's routes.

    It stays until topoopt testbed down.
    """
    with progress("reading") as report:
        answer = topoopt.testbed.up(plan, on_progress=report, **words)
    show(answer, as_json, (f"topoopt testbed down {answer.testbeds[0].name}",))
