"""The words of a wiring: which families, by what they are judged, and how long to search."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.simulation import collective_algorithm_names
from topoopt.schema.words.word import Amount, Rate, Word, panel


@panel("Forwarding")
class ForwardingWords(TypedDict, total=False):
    """How servers forward."""

    paths: Annotated[str, Word("hashed|pinned", "hashed")]
    """Connections of a pair are hashed over its paths, by weights; or each path has an address of its own."""
    identity_prefix: Annotated[str, Word("PREFIX", "10.99.0.0/16")]
    """Addresses of servers, such as 10.99.0.0/16."""
    link_prefix: Annotated[str, Word("PREFIX", "10.9.0.0/16")]
    """Addresses of the ends of links, two for each cable."""


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

    schedule: Annotated[str, Word("|".join(("best", *collective_algorithm_names(), "direct")), "best")]
    """best: the quickest for these bytes. bfb: breadth-first broadcast; tree: double binary tree. An all-to-all has
    direct and pairwise. multi-ring, hierarchical and parameter-server are compared only if named."""
    alpha: Annotated[Amount, Word("TIME", "1us")]
    """What each step takes beside its bytes."""


@panel("Wirings")
class WiringWords(TypedDict, total=False):
    """Which wirings are looked at."""

    wirings: Annotated[str, Word("strides|any")]
    """Any wiring of so many ports, or rings of strides coprime to the servers; any where no strides are asked for."""
    family: Annotated[str, Word("best|NAME")]
    """Of any: the best, or circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps, expander; best."""
    objective: Annotated[str, Word("hops|balanced")]
    """Least mean hops, or least load of the fullest link of an all-to-all; hops."""
    ring_group: int
    """One factor is rings of each so many consecutive servers, in place of one ring of all."""
    seed: int
    """Of all chance; 0, which begins with the wirings that are known. Equal seeds give equal answers."""
    budget: Annotated[float, Word("S")]
    """Seconds of search on one core, counted in work done; 3, for 513 to 8,192 servers 10, and none with seed 0 where
    better searches' wirings come with the program: 8 to 4,096 servers of 3, 4, 6, 8 and 16 ports, duplex."""
