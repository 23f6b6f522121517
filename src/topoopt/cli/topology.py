"""``topoopt topology``: the best rings for so many servers and ports, and how far apart they leave the servers."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show


def topology(
    servers: Annotated[int, typer.Option(metavar="N", show_default=False, help="Servers.")],
    degree: Annotated[
        int | None, typer.Option(metavar="N", help="Ports of a server; not needed with a list of strides.")
    ] = None,
    links: Annotated[
        str,
        typer.Option(
            metavar="duplex|directed",
            help="A port is a fiber pair to one neighbor, or sends to one and hears another.",
        ),
    ] = "duplex",
    strides: Annotated[
        str,
        typer.Option(
            metavar="best|nearest|lower-bound|LIST",
            help="The rule that chooses the rings, or the strides themselves, such as 1,13.",
        ),
    ] = "best",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose the AllReduce rings of all servers, and show the network that they make together."""
    with progress("choosing strides"):
        network = topoopt.topology(servers, degree, links=links, strides=strides)
    if as_json:
        print_json(network.to_json())
    else:
        show(network)
