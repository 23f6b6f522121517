"""``topoopt testbed status``: which testbeds this machine has."""

from typing import Annotated

from typer import Option

import topoopt
from topoopt.frontends.cli.output import show


def status(as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False) -> None:
    """List the testbeds of this machine: those that stand, are in use, or were left over."""
    show(topoopt.testbed.status(), as_json)
