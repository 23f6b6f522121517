"""``topoopt models``: the models that come with topoopt, their variants and sizes."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.render import print_json, show


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL|config.json",
            help="Show one model: its hyper-parameters, or a transformer's shapes and parameters.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models that come with topoopt: variants and hyper-parameters, shapes of transformers."""
    listed = topoopt.models(name)
    if as_json:
        print_json(listed.to_json())
    else:
        show(listed)
