"""The table of direct wirings that need no search: every server has all its interfaces on other servers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.bipartite import bipartite, bipartite_exists
from topoopt.topologies.families.circulant import circulants, circulants_exist
from topoopt.topologies.families.expander import expander
from topoopt.topologies.families.kautz import arithmetic_exists, de_bruijn, kautz
from topoopt.topologies.families.line_graph import line_graphs, line_graphs_exist
from topoopt.topologies.families.lps import lps, lps_exists
from topoopt.topologies.families.product import products, products_exist
from topoopt.topologies.families.slim_fly import slim_fly, slim_fly_exists
from topoopt.topologies.families.torus import tori, tori_exist, twisted_tori, twisted_tori_exist


@dataclass(frozen=True, slots=True)
class WiringFamily:
    """Builds the members of one family that fit.

    Attributes
    ----------
    exists : function
        From servers, degree and kind of link to whether there is a member in which no interface idles but those that
        loops would take.
    build : function
        From the same, where it exists, to the members worth looking at.
    what : str
        What it is, in a few words.
    """

    exists: Callable[[int, int, str], bool]
    build: Callable[[int, int, str], Iterator[DirectWiring]]
    what: str


def _expanders_exist(servers: int, degree: int, links: str) -> bool:
    return links == "duplex" and 2 <= degree < servers and servers * degree % 2 == 0


def _expanders(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    made = expander(servers, degree, 1.0)
    src, dst = (np.repeat(end, made.ports).astype(np.int64) for end in (made.src, made.dst))
    yield wiring_of_arcs("expander", links, servers, degree, (src, dst), {"seed": 0})


WIRING_FAMILIES: Mapping[str, WiringFamily] = MappingProxyType(
    {
        "circulant": WiringFamily(circulants_exist, circulants, "the same strides from every server"),
        "complete-bipartite": WiringFamily(bipartite_exists, bipartite, "two halves, all pairs between them"),
        "de-bruijn": WiringFamily(arithmetic_exists, de_bruijn, "x → d·x + a"),
        "expander": WiringFamily(_expanders_exist, _expanders, "a random regular graph"),
        "kautz": WiringFamily(arithmetic_exists, kautz, "x → -d·x - a"),
        "line-graph": WiringFamily(
            line_graphs_exist, line_graphs, "the fibers of a smaller wiring as servers"
        ),
        "lps": WiringFamily(lps_exists, lps, "Ramanujan graphs of matrices"),
        "product": WiringFamily(products_exist, products, "a grid of circulants"),
        "slim-fly": WiringFamily(slim_fly_exists, slim_fly, "two hops, near the most servers"),
        "torus": WiringFamily(tori_exist, tori, "a grid of rings"),
        "twisted-torus": WiringFamily(
            twisted_tori_exist, twisted_tori, "a grid of rings that come back farther along"
        ),
    }
)
"""Families by name; lifted unions of cycles, which are searched, come from the room ``wirings/``.

``FAMILIES`` is the other table: networks for any numbers, switches among them, that need no wiring of d interfaces.
"""
