"""``topoopt testbed down``: testbeds are removed, with exactly what was created for them."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import show


def down(
    name: Annotated[
        str | None,
        Argument(metavar="NAME", show_default=False, help="A testbed, or all of a run; whoever uses them."),
    ] = None,
    every: Annotated[
        bool, Option("--all", help="All testbeds, but for those that a run goes on in.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove testbeds: namespaces with all links and routes, processes inside, and nothing else."""
    if (name is None) != every:
        raise InvalidInput("NAME: give the name of a testbed, or --all; topoopt testbed status lists them")
    show(topoopt.testbed.down(name, every=every), as_json)
