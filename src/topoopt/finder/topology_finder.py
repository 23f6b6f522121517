"""TopologyFinder: from one job's traffic to links, rings and routes."""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible, check_known
from topoopt.finder.degree_split import DEGREE_SPLITS, Shares, check_degree
from topoopt.finder.fit_demand import demand_by_distance
from topoopt.finder.group_wiring import wire_groups
from topoopt.finder.matching import DAMPING, LARGEST_EXACT, MATCHINGS
from topoopt.finder.named_wiring import STRIDES, is_wiring_file, named_wiring
from topoopt.finder.placement import placed
from topoopt.finder.rings import lay_rings
from topoopt.finder.rules import USUAL_RULES, FinderRules
from topoopt.finder.select_permutations import select_permutations
from topoopt.finder.wiring import Wiring
from topoopt.finder.wiring_rings import rings_of_wiring
from topoopt.routing import ROUTING, CoinChangeRoutes, Fabric, Routes, turned_routes
from topoopt.topologies import DEFAULT_LATENCY_S, LINK_MODELS, DirectWiring, Topology, hops_from
from topoopt.workloads import Traffic

_LARGEST_MATRIX = 8192  # servers: 512 MB of bytes per pair
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
        What one iteration moves; it also says how many servers there are.
    degree : int
        Interfaces of a server; none has more links than that, in or out.
    bandwidth_bps, latency_s : float
        Of one link.
    links : str
        A name in ``LINK_MODELS``.
    rules : FinderRules
        Where the links do not come out connected, the degree split ``proportional`` is taken in place of its own.

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
    """Return routes by the rules; k-shortest where coin change is asked for and the links are no circulant.

    Above :data:`_LARGEST_FOR_WAYS` servers coin change takes one sequence a distance, chosen so that all distances
    together load the coins evenly. Above :data:`_LARGEST_FOR_ALL_PAIRS` the routes of a wiring that is the same again
    some servers further are those of the first servers, turned.
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
    """Spend the interfaces that are left on the heaviest pairs, one matching after the other."""
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
    """Make pairs that are farther apart so far worth a hair more than others of equal demand.

    This is ours, the paper leaves ties open; else a uniform all-to-all would get links that the rings
    already have. On large fabrics chance does the same (see :mod:`topoopt.finder.matching`).
    """
    if wiring.servers <= LARGEST_EXACT:
        left *= 1 + _TIE * hops_from(wiring.topology(1.0, 0.0), able)[:, able]


def _without_leftover(shares: Shares, traffic: Traffic, degree: int) -> Shares:
    """Give an odd interface that nothing else wants to the rings of all servers, to be chosen with them."""
    everyone = tuple(range(traffic.servers))
    alone = list(shares) == [everyone] and not traffic.mp_bytes
    return {everyone: degree} if alone else shares


def _matrix_fits(servers: int, degree_split: str) -> bool:
    """Return whether pairs can be matched; refuse if they have to be."""
    if servers > _LARGEST_MATRIX and degree_split != "all-to-allreduce":
        raise Infeasible(
            f"servers: model-parallel links are matched for at most {_LARGEST_MATRIX} servers, got {servers}; "
            "use the degree split all-to-allreduce"
        )
    return servers <= _LARGEST_MATRIX
