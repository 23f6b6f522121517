"""The words of a collective: on which wiring, by which schedule, what a step takes."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Rate, Word, panel


@panel("Wiring")
class CollectiveWiringWords(TypedDict, total=False):
    """Who is joined with whom."""

    servers: int
    """Servers; those of the file where ``wiring`` is one."""
    degree: int
    """Ports of a server; 4, or those of the strides or of the file."""
    wiring: Annotated[str | os.PathLike[str], Word("NAME|FILE")]
    """A family: best, circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps, expander, full-mesh; or a file: of topoopt topology, of links (two servers a
    line, or node-link JSON), or a plan. Rings of strides if not given."""
    strides: Annotated[str | Sequence[int], Word("LIST")]
    """Join server i with i + p for each stride p, such as 1,15."""
    links: Annotated[str, Word("duplex|directed")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another; duplex, or as the file says."""
    bandwidth: Rate
    """Of one port; 100Gbps."""
    seed: int
    """Of a search for lifted wirings; 0."""


class CollectiveWords(CollectiveWiringWords, total=False):
    """All words that :func:`topoopt.collective` takes beside the operation and its bytes."""

    schedule: Annotated[str, Word("best|ring|bfb|dbt|halving-doubling", "best")]
    """best: the quickest for these bytes. bfb: breadth-first broadcast; dbt: double binary tree. An all-to-all has
    direct and pairwise."""
    alpha: Annotated[Amount, Word("TIME", "1us")]
    """What each step takes beside its bytes."""
