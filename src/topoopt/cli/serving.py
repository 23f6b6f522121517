"""``topoopt serving``: which deployment of a transformer answers users in time, for the least money."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import show
from topoopt.cli.spread import spread
from topoopt.words import ServingWords


@spread
def serving(
    model: Annotated[
        str,
        Argument(
            metavar="MODEL", help="A transformer (topoopt models) or its config.json.", show_default=False
        ),
    ],
    words: ServingWords,
    report: Annotated[
        str | None,
        Option("--report", metavar="FILE", rich_help_panel="Output", help="The answer as one HTML page."),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Say which deployment answers the most requests in time: split, pools, batches; what it costs, and what binds.

    Every split, mode and share of prefill is looked at in closed form; the most promising are simulated request by
    request.
    """
    check_writable(report, "--report", model)
    with progress("screening deployments") as tell:
        answer = topoopt.serving(model, on_progress=tell, **words)
    if report is not None:
        topoopt.report(answer, out=report)
    show(answer, as_json, (), (report,))
