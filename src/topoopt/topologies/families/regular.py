"""The table of direct wirings that need no search, and the expander, a random regular graph."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.algebraic import (
    arithmetic_exists,
    bipartite,
    bipartite_exists,
    de_bruijn,
    kautz,
    line_graphs,
    line_graphs_exist,
    lps,
    lps_exists,
    slim_fly,
    slim_fly_exists,
)
from topoopt.topologies.families.circulant import circulants, circulants_exist
from topoopt.topologies.families.torus import (
    products,
    products_exist,
    tori,
    tori_exist,
    twisted_tori,
    twisted_tori_exist,
)
from topoopt.topologies.topology import Topology, check_numbers, topology_of_cables

_Pairs = Ints  # shape (cables, 2)
_TRIES = 10_000


@dataclass(frozen=True, slots=True)
class WiringFamily:
    """Builds the members of one family that fit.

    Attributes
    ----------
    exists : function
        Given servers, degree and kind of link, whether there is a member in which no interface idles except those
        that loops would take.
    build : function
        Given the same, if a member exists, the candidates.
    what : str
        Short description.
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


def expander(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    """Return a connected random graph of duplex cables in which every server has ``degree`` ports.

    The last server keeps one idle port when servers × degree is odd. Up to degree n-1 no two cables
    join the same pair. Above, every n-1 ports make one full mesh and the rest is random.

    The random part is a Hamiltonian cycle plus a random graph on the other ports. For degrees of 3 and
    more such sums are contiguous with uniform random regular graphs (every property that almost surely holds for one
    holds for the other) [2]_, and the cycle makes them connected. Servers are numbered along the cycle: ranks that send
    to the next one then have a cable, as with any order of ranks that an operator would choose.

    Raises
    ------
    InvalidInput
        If one port a server is to connect more than two.

    References
    ----------
    .. [1] A. Singla et al., "Jellyfish: networking data centers randomly", NSDI 2012.
    .. [2] N. Wormald, "Models of random regular graphs", 1999, section 4.

    Examples
    --------
    >>> graph = expander(16, 4, 100e9)
    >>> len(graph), int(graph.ports.max())
    (64, 1)
    """
    check_numbers("expander", servers, degree, bandwidth_bps, latency_s)
    if degree == 1 and servers > 2:
        raise InvalidInput(f"expander: degree 1 cannot connect {servers} servers; use a degree of 2 or more")
    rng = np.random.default_rng(seed)
    meshes, rest = divmod(degree, servers - 1)
    parts = [_all_pairs(servers) for _ in range(meshes)]
    if rest > (servers - 1) // 2:
        # Dense: draw the sparse graph of the missing pairs. Any two servers then share a neighbor.
        lacking = np.full(servers, servers - 1 - rest)
        lacking[-1] += servers * rest % 2
        missing = _random_graph(servers, lacking, _cycle(servers), rng)
        everything = _all_pairs(servers)
        kept = ~np.isin(_keys(everything, servers), _keys(missing, servers))
        parts.append(everything[kept])
    elif rest:
        ports = np.full(servers, rest)
        ports[-1] -= servers * rest % 2
        cycle = _cycle(servers) if rest > 1 else np.empty((0, 2), np.int64)
        used = np.bincount(cycle.ravel(), minlength=servers)
        parts += [cycle, _random_graph(servers, ports - used, cycle, rng)]
    cables = np.concatenate(parts)
    return topology_of_cables("expander", servers, (cables[:, 0], cables[:, 1]), bandwidth_bps, latency_s)


def _random_graph(servers: int, ports: Ints, taken: _Pairs, rng: np.random.Generator) -> _Pairs:
    """Return a simple graph with those degrees and none of the taken pairs.

    Free ports are paired at random; loops and repeats are then mended by swapping an end with a random
    other cable, which keeps every degree.
    """
    ends = np.repeat(np.arange(servers), ports)
    pairs = rng.permutation(ends).reshape(-1, 2)
    taken_keys = _keys(taken, servers)
    for _ in range(_TRIES):
        wrong = _wrong_pairs(pairs, taken_keys, servers)
        if not len(wrong):
            return pairs
        for cable, partner in zip(wrong, rng.integers(0, len(pairs), len(wrong)), strict=True):
            pairs[cable, 1], pairs[partner, 1] = pairs[partner, 1], pairs[cable, 1]
        flipped = rng.integers(0, len(pairs), len(wrong))
        pairs[flipped] = pairs[flipped, ::-1]
    raise Infeasible(f"expander: found no simple random graph of {servers} servers; try another seed")


def _wrong_pairs(pairs: _Pairs, taken_keys: Ints, servers: int) -> Ints:
    keys = _keys(pairs, servers)
    _, first = np.unique(keys, return_index=True)
    wrong = np.ones(len(pairs), bool)
    wrong[first] = False
    wrong |= pairs[:, 0] == pairs[:, 1]
    wrong |= np.isin(keys, taken_keys)
    return np.flatnonzero(wrong)


def _cycle(servers: int) -> _Pairs:
    order = np.arange(servers)
    return np.stack([order, np.roll(order, -1)], axis=1)


def _all_pairs(servers: int) -> _Pairs:
    return np.stack(np.triu_indices(servers, 1), axis=1)


def _keys(pairs: _Pairs, servers: int) -> Ints:
    keys: Ints = pairs.min(axis=1) * servers + pairs.max(axis=1)
    return keys
