"""``topoopt topology``: the best rings for so many servers and ports, and how far apart they leave the servers."""

from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.cli.progress import progress
from topoopt.cli.render import show
from topoopt.cli.spread import spread
from topoopt.words import Word


class RingWords(TypedDict, total=False):
    """Which rings."""

    degree: int
    """Ports of a server; not needed with a list of strides."""
    links: Annotated[str, Word("duplex|directed", "duplex")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another."""
    strides: Annotated[str, Word("best|nearest|lower-bound|LIST", "best")]
    """The rule that chooses the rings, or the strides themselves, such as 1,13."""


@spread
def topology(
    servers: Annotated[int, Option(metavar="N", show_default=False, help="Servers.")],
    words: RingWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose the AllReduce rings of all servers, and show the network that they make together."""
    with progress("choosing strides"):
        network = topoopt.topology(servers, **words)
    show(network, as_json)
