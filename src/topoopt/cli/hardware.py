"""``topoopt hardware``: what can be bought, with the source of every row."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.render import print_json, show


def hardware(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE",
            help="accelerators, nics, transceivers, switches, optical-switches or efficiency; all if not named.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with sources.")] = False,
) -> None:
    """List accelerators, network parts and efficiencies, each with its source."""
    tables = topoopt.hardware(name)
    if as_json:
        print_json(tables.to_json())
    else:
        show(tables)
