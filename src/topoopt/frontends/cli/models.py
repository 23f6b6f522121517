"""``topoopt models``: the models that come with topoopt, their variants and sizes."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import show


def models(
    name: Annotated[
        str | None,
        Argument(
            metavar="MODEL|config.json",
            help="Show one model: its hyper-parameters, or a transformer's shapes and parameters.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models that come with topoopt: variants and hyper-parameters, shapes of transformers."""
    show(topoopt.models(name), as_json)
