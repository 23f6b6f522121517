"""``topoopt hardware``: what can be bought, with the source of every row."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import show


def hardware(
    name: Annotated[
        str | None,
        Argument(
            metavar="TABLE",
            help="accelerators, servers, nics, transceivers, switches, optical-switches or efficiency; "
            "all if not named.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with sources.")] = False,
) -> None:
    """List accelerators, servers, network parts and efficiencies, each with its source."""
    show(topoopt.hardware(name), as_json)
