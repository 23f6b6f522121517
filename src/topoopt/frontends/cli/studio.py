"""``topoopt studio``: a live page in the browser."""

import json
import sys
from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import StudioWords


@spread
def studio(
    words: StudioWords,
    model: Annotated[
        str | None,
        Argument(
            metavar="MODEL|FILE",
            show_default=False,
            help="Model that the page opens with (default llama3-70b).",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Open an interactive page that compares networks, times and costs as settings change.

    Estimates come at once; a plan is made in a separate process, shows its progress, and can be canceled. The address
    of the page holds the question. By default it listens on this machine only. Ctrl-C ends it. Needs topoopt\\[studio].
    """

    def say(address: topoopt.StudioAddress) -> None:
        if as_json:
            print(json.dumps(address.to_json()), flush=True)
        else:
            print(f"The page is {address.url}\nCtrl-C ends it.", file=sys.stdout, flush=True)

    topoopt.studio(model, on_ready=say, **words)
