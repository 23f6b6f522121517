"""``topoopt testbed run``: a job is trained on a plan's network on this machine, and on others beside it."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import TestbedRunWords


@spread
def run(
    words: TestbedRunWords,
    plan: Annotated[
        str | None,
        Argument(
            metavar="PLAN",
            show_default=False,
            help="A plan file; if not given, a job of the paper on its 12 servers.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with every link.")] = False,
) -> None:
    """Train on a plan's network and on switches on this machine: real PyTorch, beside the simulators.

    All is measured. A server is a network namespace, a link a veth pair of scaled bandwidth; computing is a timed
    sleep, and all messages are sent. Needs root and PyTorch.
    """
    with progress("planning") as report:
        answer = topoopt.testbed.run(plan, on_progress=report, **words)
    show(answer, as_json)
