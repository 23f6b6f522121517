"""The words of a wiring: which families, by what they are judged, and how long to search."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Word, panel


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
