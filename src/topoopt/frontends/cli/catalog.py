"""``topoopt models``, ``hardware`` and ``doctor``: included models, the hardware catalog, and this installation."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import show


def hardware(
    name: Annotated[
        str | None,
        Argument(
            metavar="TABLE|PART",
            help="accelerators, servers, nics, transceivers, switches, optical-switches or efficiency; or a part such "
            "as h100; all tables if not named.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with sources.")] = False,
) -> None:
    """List accelerators, servers, network parts and efficiencies with their sources."""
    show(topoopt.hardware(name), as_json)


def models(
    name: Annotated[
        str | None,
        Argument(
            metavar="MODEL|config.json",
            help="Show one model: its hyperparameters, or a transformer's shape and parameter count; or list the "
            "transformers whose names begin so, such as llama3.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the built-in models with their variants, hyperparameters and transformer shapes."""
    show(topoopt.models(name), as_json)


def doctor(
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show versions, extras, kernels, browser, testbed and Ray, and remedies where one is missing."""
    show(topoopt.doctor(), as_json)
