"""TopologyFinder: from one job's traffic to links, rings and routes.

Ranks are placed on the servers of a wiring so that pairs with the most bytes are nearest. The paper does not
do this: a symmetric wiring is judged by a uniform all-to-all, and demand that is not uniform decides which of its
servers stand next to each other.
"""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import Infeasible, check_fields, check_known
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.finder.fabric_request import DEGREE_SPLITS, GROUPS_BY_FAMILY, Shares, check_degree, joined_groups
from topoopt.finder.named_wiring import STRIDES, check_wiring_name, is_wiring_file, named_wiring
from topoopt.finder.rings import lay_rings, rings_of_wiring
from topoopt.finder.select_permutations import STRIDE_RULES, demand_by_distance, select_permutations
from topoopt.finder.topology_finder_kernel import anneal_places
from topoopt.finder.wiring import (
    DAMPING,
    GROUP_RINGS,
    LARGEST_EXACT,
    LIFTED,
    MATCHINGS,
    Wiring,
    wire_cliques,
    wire_groups,
)
from topoopt.routing import ROUTING, CoinChangeRoutes, Fabric, Routes, turned_routes
from topoopt.topologies import LINK_MODELS, DirectWiring, Topology, WiredRing, hops_from, wiring_of_arcs
from topoopt.workloads import Traffic


@dataclass(frozen=True, slots=True)
class FinderRules:
    """Names in ``DEGREE_SPLITS``, ``STRIDE_RULES``, ``DAMPING``, ``ROUTING`` and of wirings, checked when made.

    Attributes
    ----------
    degree_split : str
        Rule for the interfaces given to AllReduce rings.
    strides : str
        Rule for the strides of these rings.
    wiring : str
        Wiring of the group of all servers: along strides, a family of wirings (see ``WIRING_NAMES``), or a wiring
        file. Coin-change routes apply to strides and other circulants.
    damping : str
        Factor by which a link reduces the demand of its pair for another link.
    routing : str
        Coin-change routes exist on circulants; where model-parallel links make it something else, k-shortest is used.
    group_rings : str
        Wiring of the groups of :data:`GROUPS_BY_FAMILY`: ``lifted`` (unions of Hamiltonian cycles) or along the
        ``strides`` of the group, as with all other degree splits.
    """

    degree_split: str = "proportional"
    strides: str = "best"
    damping: str = "halving"
    routing: str = "coin-change"
    wiring: str = STRIDES
    group_rings: str = LIFTED

    def __post_init__(self) -> None:
        check_fields(self, degree_split=DEGREE_SPLITS, strides=STRIDE_RULES, damping=DAMPING)
        check_fields(self, routing=ROUTING, group_rings=GROUP_RINGS)
        check_wiring_name(self.wiring)

    @property
    def lifts_groups(self) -> bool:
        """Whether groups that share no server are wired by unions of Hamiltonian cycles."""
        return self.group_rings == LIFTED and self.degree_split in GROUPS_BY_FAMILY


USUAL_RULES = FinderRules()
_LARGEST = 2048
"""Servers; of more the hops of all pairs take longer than a placement gains."""
_MOST_ENTRIES = 4_000_000
_VISITS = 5_000_000
"""Most entries of demand examined: about 30 ms."""
_STEPS_A_SERVER = 1000
_COOLS = 1e-3
_EVEN = 0.25
"""Standard deviation over mean up to which the demand of all pairs counts as uniform."""
_WORTH = 0.01
"""Minimum gain of a placement in bytes × hops, as a fraction: each placement costs a wiring its symmetry."""
LARGEST_MATRIX = 8192
"""Servers of which bytes are looked at pair by pair: 512 MB."""
_LARGEST_FOR_WAYS = 1024  # servers: 4,096 along strides are 32 hops apart, 100 links a pair on four ways
_LARGEST_FOR_ALL_PAIRS = (
    256  # servers: above, routes are found from the first ones, and turned for all others
)
_TIE = 1e-7  # per hop: less than any difference in demand that is meant


def find_topology(
    traffic: Traffic,
    *,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    links: str = "duplex",
    rules: FinderRules = USUAL_RULES,
    seed: int = 0,
) -> Fabric:
    """Wire the servers of a job for its traffic, lay its rings and route its transfers.

    Parameters
    ----------
    traffic : Traffic
        Traffic of one iteration; it also gives the number of servers.
    degree : int
        Interfaces of a server; none has more links than that, in or out.
    bandwidth_bps, latency_s : float
        Bandwidth and latency of one link.
    links : str
        A name in ``LINK_MODELS``.
    rules : FinderRules
        Rules of the finder. If the links do not connect all servers, the degree split ``proportional`` is used
        instead.

    Raises
    ------
    InvalidInput
        If the degree cannot connect the servers.
    Infeasible
        If model-parallel links are wanted for more than 8,192 servers, or the rules name a family of wirings that has
        none for the interfaces that the degree split gives to all servers.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 1.
    """
    check_known("links", links, LINK_MODELS)
    check_degree(traffic.servers, degree, links)
    wiring, of_all = _wired(traffic, degree, links, rules, seed)
    if not wiring.is_connected():
        wiring, of_all = _wired(traffic, degree, links, replace(rules, degree_split="proportional"), seed)
    topology = wiring.topology(bandwidth_bps, latency_s)
    if of_all is not None:
        topology = replace(topology, rings=rings_of_wiring(of_all, traffic, seed))
    routes = routed_by(topology, rules, seed)
    rings = {
        g.members: wiring.rings.get(g.members) or lay_rings(topology, routes, g.members, degree, seed)
        for g in traffic.allreduce
    }
    return Fabric("topoopt", topology, routes, rings, wiring=of_all)


def routed_by(topology: Topology, rules: FinderRules, seed: int) -> Routes:
    """Return routes by the rules; k-shortest in place of coin change if the links are no circulant.

    Above :data:`_LARGEST_FOR_WAYS` servers coin change takes one sequence a distance, chosen so that all distances
    together load the coins evenly. Above :data:`_LARGEST_FOR_ALL_PAIRS` the routes of a wiring that is the same again
    some servers further are those of the first servers, rotated.
    """
    usable = rules.routing if topology.offsets or rules.routing != "coin-change" else "k-shortest"
    if usable == "coin-change" and topology.servers > _LARGEST_FOR_WAYS:
        return CoinChangeRoutes(topology, alternatives=1, seed=seed)
    routes = ROUTING[usable](topology, seed)
    turned = usable == "k-shortest" and topology.servers > _LARGEST_FOR_ALL_PAIRS
    return turned_routes(topology, routes) if turned else routes


def _wired(
    traffic: Traffic, degree: int, links: str, rules: FinderRules, seed: int
) -> tuple[Wiring, DirectWiring | None]:
    """Return the servers with all interfaces plugged in; and how all of them are joined, if not along strides."""
    wiring = Wiring(traffic.servers, degree, links)
    if is_wiring_file(rules.wiring):  # it says where every cable goes, whatever the job; ports may be idle
        fixed = named_wiring(rules.wiring, traffic.servers, degree, links, seed)
        wiring.add_links(*fixed.arcs)
        return wiring, fixed
    shares = DEGREE_SPLITS[rules.degree_split](traffic, degree, links)
    if not shares:
        wire_cliques(wiring, joined_groups(traffic, degree), traffic.mp_matrix(), DAMPING[rules.damping])
    shares, of_all = _without_leftover(shares, traffic, degree), None
    everyone = tuple(range(traffic.servers))
    if rules.wiring != STRIDES and everyone in shares:
        made = named_wiring(rules.wiring, traffic.servers, shares.pop(everyone), links, seed)
        of_all = placed(made, traffic, seed)
        wiring.add_links(*of_all.arcs)
    if rules.lifts_groups and everyone not in shares:
        wiring.rings.update(wire_groups(wiring, shares, seed))
    else:
        _wire_rings(wiring, shares, rules.strides, traffic)
    if traffic.mp_bytes and wiring.free.any() and _matrix_fits(traffic.servers, rules.degree_split):
        _wire_matchings(wiring, traffic.mp_matrix(), rules.damping)
    wiring.add_idle()
    return wiring, of_all


def _wire_rings(wiring: Wiring, shares: Shares, rule: str, traffic: Traffic) -> None:
    """Plug in the rings of every group that got interfaces; those of all servers suit the MP traffic too."""
    for members, interfaces in shares.items():
        size = len(members)
        demand = demand_by_distance(traffic) if size == traffic.servers and traffic.mp_bytes else None
        chosen = select_permutations(size, interfaces, links=wiring.links, rule=rule, demand_bytes=demand)
        wiring.add_rings(np.asarray(members, np.int64), chosen)


def _wire_matchings(wiring: Wiring, mp_bytes: Floats, damping: str) -> None:
    """Assign the remaining interfaces to the heaviest pairs, one matching after the other."""
    demand = mp_bytes.copy()
    while len(able := np.flatnonzero(wiring.free > 0)) > 1:
        left = demand[np.ix_(able, able)]
        if not left.any():
            return
        _prefer_far(left, wiring, able)
        a, b = (able[ends] for ends in MATCHINGS[wiring.links](left))
        if not len(a):
            return
        wiring.add_pairs(a, b)
        factor = DAMPING[damping](wiring.links_between(a, b).astype(np.float64))
        demand[a, b] *= factor
        if wiring.links == "duplex":
            demand[b, a] *= factor


def _prefer_far(left: Floats, wiring: Wiring, able: Ints) -> None:
    """Increase the demand of distant pairs slightly over that of others of equal demand.

    This is ours, the paper leaves ties open; else a uniform all-to-all would get links that the rings
    already have. On large fabrics chance does the same (see :mod:`topoopt.finder.wiring`).
    """
    if wiring.servers <= LARGEST_EXACT:
        left *= 1 + _TIE * hops_from(wiring.topology(1.0, 0.0), able)[:, able]


def _without_leftover(shares: Shares, traffic: Traffic, degree: int) -> Shares:
    """Use an odd, otherwise unused interface for the rings of all servers, to be chosen with them."""
    everyone = tuple(range(traffic.servers))
    alone = list(shares) == [everyone] and not traffic.mp_bytes
    return {everyone: degree} if alone else shares


def _matrix_fits(servers: int, degree_split: str) -> bool:
    """Return whether pairs can be matched; refuse if they have to be."""
    if servers > LARGEST_MATRIX and degree_split != "all-to-allreduce":
        raise Infeasible(
            f"servers: model-parallel links are matched for at most {LARGEST_MATRIX} servers, got {servers}; "
            "use the degree split all-to-allreduce"
        )
    return servers <= LARGEST_MATRIX


def placed(wiring: DirectWiring, traffic: Traffic, seed: int) -> DirectWiring:
    """Return the wiring with its servers renumbered for the traffic; itself where that gains nothing.

    The recipe then has the ``place`` of each server in the original wiring.
    """
    demand = _demand(traffic)
    if demand is None:
        return wiring
    hops = hops_from(wiring.topology(), np.arange(wiring.servers))
    if (hops < 0).any():
        return wiring
    src, dst, size_bytes = demand
    place = _annealed(traffic.servers, src, dst, size_bytes, hops, seed)
    before, after = (float(size_bytes @ hops[at[src], at[dst]]) for at in (np.arange(len(place)), place))
    if after > before * (1 - _WORTH):
        return wiring
    rank = np.argsort(place, kind="stable")
    tail, head = wiring.arcs
    made = wiring_of_arcs(
        wiring.family,
        wiring.links,
        wiring.servers,
        wiring.degree,
        (rank[tail], rank[head]),
        {**wiring.recipe, "place": place.tolist()},
    )
    return replace(made, rings=tuple(WiredRing(rank[ring.walk], ring.share) for ring in wiring.rings))


def _demand(traffic: Traffic) -> tuple[Ints, Ints, Floats] | None:
    """Return the transfers that differ between servers (src, dst, bytes); None if there are none.

    An AllReduce of some counts as if they sent its bytes to each other evenly: their rings are shorter where they are
    near.
    """
    servers = traffic.servers
    parts = [(traffic.transfers.src, traffic.transfers.dst, traffic.transfers.size_bytes.astype(np.float64))]
    groups = [(group.members, float(group.bytes_per_pair)) for group in traffic.alltoall]
    groups += [
        (group.members, group.wire_bytes / len(group.members) / max(len(group.members) - 1, 1))
        for group in traffic.allreduce
    ]
    groups = [(members, each) for members, each in groups if len(members) < servers]
    entries = sum(len(members) ** 2 for members, _ in groups) + len(traffic.transfers)
    if not 0 < entries <= _MOST_ENTRIES or servers > _LARGEST:
        return None
    for members, each_bytes in groups:
        ends = np.array(members, np.int64)
        pair = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
        parts.append((*pair, np.full(len(pair[0]), each_bytes)))
    src, dst, size_bytes = (np.concatenate(column) for column in zip(*parts, strict=True))
    key, row = np.unique(src * servers + dst, return_inverse=True)
    summed = np.asarray(np.bincount(row, size_bytes, minlength=len(key)), np.float64)
    summed[key // servers == key % servers] = 0.0
    pairs = servers * (servers - 1)
    mean = summed.sum() / pairs
    if (summed**2).sum() / pairs <= (1 + _EVEN**2) * mean**2:
        return None
    return key // servers, key % servers, summed


def _annealed(servers: int, src: Ints, dst: Ints, size_bytes: Floats, hops: Ints32, seed: int) -> Ints:
    ends, others = np.concatenate([src, dst]), np.concatenate([dst, src])
    nothing = np.zeros(len(src))
    key, row = np.unique(ends * servers + others, return_inverse=True)
    there = np.asarray(np.bincount(row, np.concatenate([size_bytes, nothing]), len(key)), np.float64)
    back = np.asarray(np.bincount(row, np.concatenate([nothing, size_bytes]), len(key)), np.float64)
    first = np.searchsorted(key, np.arange(servers + 1) * servers)
    place = np.arange(servers)
    state = np.array([np.random.default_rng((seed, servers)).integers(1, 2**62)], np.uint64)
    whom, between = (key % servers).astype(np.int32), np.ascontiguousarray(hops)
    steps = max(servers, min(_STEPS_A_SERVER * servers, _VISITS * servers // (2 * len(key))))
    hot = float(size_bytes.sum()) / servers
    cooling = _COOLS ** (1 / steps)
    anneal_places(first, whom, there, back, between, place, state, steps, hot, cooling)
    anneal_places(first, whom, there, back, between, place, state, steps // 4, 0.0, 1.0)
    return place
