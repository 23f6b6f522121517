"""Graphs of switches with servers below each: dragonflies, Slim Fly, PolarFly, Jellyfish, leaves and spines.

Servers fill the switches of groups in order, and are spread evenly over graphs without groups. All links have the
bandwidth of a server's port except above leaves. A plane joins one port of every server; parallel switches of a tier
are one node where ``switches`` is false, as in :func:`topoopt.topologies.fat_tree`.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from itertools import combinations
from math import ceil

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.topologies.families.algebraic import galois_field, prime_power, slim_fly
from topoopt.topologies.families.fat_tree import check_oversubscription, thinned_uplinks
from topoopt.topologies.families.regular import expander
from topoopt.topologies.topology import Topology, check_numbers, topology_of_cables

Cables = list[tuple[int, int]]
LARGEST_FIELD = 64
"""The q up to which Slim Fly and PolarFly are made: 8,192 and 4,161 switches."""


def in_planes(plane: Topology, planes: int) -> Topology:
    """Return equal planes that join one port of every server each."""
    n, more = plane.servers, plane.nodes - plane.servers
    once = plane.src < plane.dst
    columns = plane.src, plane.dst, plane.bandwidth_bps / plane.ports
    one, other, each_bps = (np.repeat(column[once], plane.ports[once]) for column in columns)
    offsets = np.repeat(np.arange(planes) * more, len(one))
    ends = (np.tile(end.astype(np.int64), planes) for end in (one, other))
    low, high = (np.where(end < n, end, end + offsets) for end in ends)
    each = np.tile(each_bps, planes)
    return topology_of_cables(
        plane.family, n, (low, high), each, float(plane.latency_s[0]), n + planes * more
    )


def dragonfly(
    servers: int, bandwidth_bps: float, latency_s: float, seed: int = 0, per_switch: int = 0
) -> Topology:
    """Return groups of switches, all joined in a group, and every two groups joined as often as ports allow.

    Parameters
    ----------
    per_switch : int
        Servers per switch, p: a group has 2p switches with p links to other groups each; by default the least p that
        holds the servers in 2p² + 1 groups.

    References
    ----------
    .. [1] J. Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008.
    """
    p = per_switch or _least(lambda p: 2 * p * p * (2 * p * p + 1) >= servers)
    group = 2 * p
    groups = _groups("dragonfly", servers, group * p, group * p + 1, "per_switch")
    cables: Cables = []
    for first in range(0, group * groups, group):
        cables += combinations(range(first, first + group), 2)
    cables += _between_groups(
        [[k * group + i for i in range(group) for _ in range(p)] for k in range(groups)]
    )
    return _plane("dragonfly", (servers, p, group * groups), cables, bandwidth_bps, latency_s)


def dragonfly_plus(
    servers: int, bandwidth_bps: float, latency_s: float, seed: int = 0, radix: int = 0
) -> Topology:
    """Return groups of leaves and spines, each leaf joined to each spine, and spines to those of other groups.

    Parameters
    ----------
    radix : int
        Ports of a switch, k, even: a group has k/2 leaves with k/2 servers each, and k/2 spines with k/2 links to
        other groups; by default the least k that holds the servers.

    References
    ----------
    .. [1] A. Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017.
    """
    if radix % 2:
        raise InvalidInput(f"dragonfly-plus: radix must be even, got {radix}")
    half = radix // 2 or _least(lambda half: half**2 * (half**2 + 1) >= servers)
    groups = _groups("dragonfly-plus", servers, half**2, half**2 + 1, "radix")
    leaves = half * groups
    cables: Cables = [
        (k * half + leaf, leaves + k * half + spine)
        for k in range(groups)
        for leaf in range(half)
        for spine in range(half)
    ]
    cables += _between_groups(
        [[leaves + k * half + i for i in range(half) for _ in range(half)] for k in range(groups)]
    )
    return _plane("dragonfly-plus", (servers, half, 2 * leaves), cables, bandwidth_bps, latency_s)


def slim_fly_plane(
    servers: int, bandwidth_bps: float, latency_s: float, seed: int = 0, q: int = 0
) -> Topology:
    """Return the McKay-Miller-Širáň graph of 2q² switches of diameter 2, half as many servers per switch as links.

    Parameters
    ----------
    q : int
        A prime power that is not 2 mod 4; by default the least that holds the servers.

    References
    ----------
    .. [1] M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014.
    """

    def links(q: int) -> int:
        return (3 * q - {0: 0, 1: 1, 3: -1}[q % 4]) // 2

    allowed = [q for q in range(3, LARGEST_FIELD + 1) if q % 4 != 2 and prime_power(q)]
    q = _chosen("slim-fly", q, allowed, lambda q: 2 * q * q * ceil(links(q) / 2), servers)
    made = next(slim_fly(2 * q * q, links(q), "duplex"))
    src, dst = (np.asarray(end, np.int64) for end in made.arcs)
    pairs = zip(src[src < dst].tolist(), dst[src < dst].tolist(), strict=True)
    return _plane("slim-fly", (servers, 0, 2 * q * q), list(pairs), bandwidth_bps, latency_s)


def polarfly(servers: int, bandwidth_bps: float, latency_s: float, seed: int = 0, q: int = 0) -> Topology:
    """Return the Erdős-Rényi polarity graph: q² + q + 1 switches of at most q + 1 links, diameter 2.

    Switches are the points of the projective plane over GF(q); two are joined if their vectors are orthogonal.

    Parameters
    ----------
    q : int
        A prime power; by default the least that holds (q + 1)/2 servers per switch.

    References
    ----------
    .. [1] K. Lakhotia et al., "PolarFly: a cost-effective and flexible low-diameter topology", SC 2022.
    """
    allowed = [q for q in range(2, LARGEST_FIELD + 1) if prime_power(q)]
    q = _chosen("polarfly", q, allowed, lambda q: (q * q + q + 1) * ceil((q + 1) / 2), servers)
    power = prime_power(q)
    assert power is not None
    field = galois_field(*power)
    negative = field.minus[0]
    rows = [(1, a, b) for a in range(q) for b in range(q)] + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]
    x, y, z = np.array(rows, np.int64).T

    def plus(a: Ints, b: Ints) -> Ints:
        total: Ints = field.minus[a, negative[b]]
        return total

    product = plus(plus(field.times[x[:, None], x], field.times[y[:, None], y]), field.times[z[:, None], z])
    one, other = np.nonzero(np.triu(product == 0, 1))
    pairs = list(zip(one.tolist(), other.tolist(), strict=True))
    return _plane("polarfly", (servers, 0, len(rows)), pairs, bandwidth_bps, latency_s)


def jellyfish(
    servers: int, bandwidth_bps: float, latency_s: float, seed: int = 0, ports: int = 32, per_switch: int = 0
) -> Topology:
    """Return a random regular graph of switches, with servers on the other ports.

    Parameters
    ----------
    ports : int
        Ports of a switch.
    per_switch : int
        Servers per switch; by default a third of the ports.

    References
    ----------
    .. [1] A. Singla et al., "Jellyfish: networking data centers randomly", NSDI 2012.
    """
    below = per_switch or max(ports // 3, 1)
    if not 1 <= below < ports:
        raise InvalidInput(f"jellyfish: per_switch must be 1 to ports - 1, {ports - 1}, got {below}")
    switches = ceil(servers / below)
    if switches < 2:
        return _plane("jellyfish", (servers, 0, 1), [], bandwidth_bps, latency_s)
    graph = expander(switches, ports - below, 1.0, seed=seed)
    once = graph.src < graph.dst
    columns = (np.repeat(end[once], graph.ports[once]).tolist() for end in (graph.src, graph.dst))
    return _plane(
        "jellyfish", (servers, below, switches), list(zip(*columns, strict=True)), bandwidth_bps, latency_s
    )


def leaf_spine(
    servers: int,
    bandwidth_bps: float,
    latency_s: float,
    leaf_servers: int = 32,
    oversubscription: float = 1.0,
    pod_servers: int = 0,
    pod_oversubscription: float = 1.0,
    switches: bool = False,
) -> Topology:
    """Return leaves and spines, and above the spines of several pods a core.

    Parameters
    ----------
    leaf_servers : int
        Servers per leaf.
    oversubscription : float
        Bandwidth into a full leaf from its servers over bandwidth out of it.
    pod_servers : int
        Servers per pod; by default one pod has all.
    pod_oversubscription : float
        Bandwidth into the spines of a full pod from its leaves over bandwidth to the core.

    References
    ----------
    .. [1] A. Gangidi et al., "RDMA over Ethernet for distributed AI training at Meta scale", SIGCOMM 2024: two tiers
       and a third with 1:7 between.
    """
    for ratio in (oversubscription, pod_oversubscription):
        check_oversubscription("leaf-spine", ratio)
    pod_size = pod_servers or max(servers, leaf_servers)
    if not 1 <= leaf_servers <= pod_size or (pod_size % leaf_servers and pod_servers):
        raise InvalidInput(
            f"leaf-spine: pod_servers must be a multiple of leaf_servers, {leaf_servers}, got {pod_size}"
        )
    uplinks, up_bps = thinned_uplinks(leaf_servers, bandwidth_bps, oversubscription)
    leaves, pods = ceil(servers / leaf_servers), ceil(servers / pod_size)
    of_pod = ceil(pod_size / leaf_servers)
    spines = (_fewest(uplinks, of_pod, leaf_servers + uplinks) if switches else 1) if leaves > 1 else 0
    first_spine, first_core = servers + leaves, servers + leaves + pods * spines
    cables: list[tuple[int, int, float]] = [
        (server, servers + server // leaf_servers, bandwidth_bps) for server in range(servers)
    ]
    for leaf in range(leaves if spines else 0):
        for k in range(uplinks):
            cables.append((servers + leaf, first_spine + leaf // of_pod * spines + k % spines, up_bps))
    cores = 0
    if pods > 1:
        core_links, core_bps = thinned_uplinks(of_pod * uplinks, up_bps, pod_oversubscription)  # of a pod
        cores = _fewest(core_links, pods, leaf_servers + uplinks) if switches else 1
        for pod in range(pods):
            for k in range(core_links):
                spine = first_spine + pod * spines + k % spines
                cables.append((spine, first_core + k // spines % cores, core_bps))
    return _of_rows("leaf-spine", servers, cables, latency_s, first_core + cores)


@dataclass(frozen=True, slots=True)
class RailShape:
    """Sizes of a rail-optimized network.

    Attributes
    ----------
    planes : int
        Planes that a port is split over.
    leaf_servers : int
        Servers per leaf.
    spines : int
        Spines per plane, each with a cable to every leaf; by default the fewest with as many ports as a leaf.
    oversubscription : float
        Bandwidth into a full leaf from its servers over bandwidth out of it.
    """

    planes: int = 1
    leaf_servers: int = 32
    spines: int = 0
    oversubscription: float = 1.0


def rail_optimized(
    servers: int,
    rails: int,
    bandwidth_bps: float,
    latency_s: float,
    shape: RailShape = RailShape(),
    switches: bool = False,
) -> Topology:
    """Return leaves of one rail each, and spines that join the leaves of all rails, as it is sold.

    Nodes are servers, the leaves of a plane rail by rail, and its spines. With two planes every port is split into two
    of half the bandwidth, each on a leaf of its own (HPN's dual ToR).

    Parameters
    ----------
    rails : int
        Interfaces of a server.

    References
    ----------
    .. [1] K. Qian et al., "Alibaba HPN: a data center network for large language model training", SIGCOMM 2024.
    """
    planes, leaf_servers, spines, oversubscription = astuple(shape)
    check_oversubscription("rail-optimized", oversubscription)
    if planes < 1 or leaf_servers < 1 or spines < 0:
        raise InvalidInput("rail-optimized: planes and leaf_servers must be at least 1, spines at least 0")
    port_bps, segments = bandwidth_bps / planes, ceil(servers / leaf_servers)
    uplinks, up_bps = thinned_uplinks(leaf_servers, port_bps, oversubscription)
    leaves = rails * segments
    if spines:
        uplinks, up_bps = spines, uplinks * up_bps / spines
    whole = spines or _fewest(uplinks, leaves, leaf_servers + uplinks)
    joined = (whole if switches else 1) if leaves > 1 else 0
    first_spine = servers + planes * leaves
    cables = list[tuple[int, int, float]]()
    for plane in range(planes):
        for rail in range(rails):
            leaf = servers + plane * leaves + rail * segments
            cables += [(server, leaf + server // leaf_servers, port_bps) for server in range(servers)]
            for segment in range(segments if joined else 0):
                spine = first_spine + plane * joined
                cables += [(leaf + segment, spine + k % joined, up_bps) for k in range(uplinks)]
    return _of_rows("rail-optimized", servers, cables, latency_s, first_spine + planes * joined)


def _least(holds: Callable[[int], bool]) -> int:
    size = 1
    while not holds(size):
        size += 1
    return size


def _fewest(uplinks: int, leaves: int, ports: int) -> int:
    """Return the fewest switches, a divisor of the uplinks of a leaf, whose ports suffice for those of all leaves."""
    divisors = [k for k in range(1, uplinks + 1) if uplinks % k == 0]
    return next((k for k in divisors if leaves * uplinks // k <= ports), uplinks)


def _groups(family: str, servers: int, of_group: int, most: int, key: str) -> int:
    groups = -(-servers // of_group)
    if groups > most:
        raise InvalidInput(
            f"{family}: {most} groups of {of_group} servers hold {most * of_group}, got {servers}; use a larger {key}"
        )
    return groups


def _chosen(family: str, q: int, allowed: list[int], holds: Callable[[int], int], servers: int) -> int:
    if not q:
        fit = [one for one in allowed if holds(one) >= servers]
        if not fit:
            raise InvalidInput(f"{family}: holds {holds(allowed[-1]):,} servers at most, got {servers:,}")
        return fit[0]
    if q not in allowed:
        raise InvalidInput(f"{family}: q must be one of {', '.join(map(str, allowed))}, got {q}")
    if holds(q) < servers:
        raise InvalidInput(f"{family}: q = {q} holds {holds(q)} servers, got {servers}; use a larger q")
    return q


def _between_groups(free: list[list[int]]) -> Cables:
    """Return as many links between every two groups as their free ports allow, spread over their switches."""
    cables: Cables = []
    if len(free) > 1:
        parallel = min(map(len, free)) // (len(free) - 1)
        for _ in range(max(parallel, 1)):
            cables += [(one.pop(0), other.pop(0)) for one, other in combinations(free, 2)]
    return cables


def _plane(
    family: str, size: tuple[int, int, int], cables: Cables, bandwidth_bps: float, latency_s: float
) -> Topology:
    servers, per_switch, switches = size  # none per switch: spread evenly
    check_numbers(family, servers, 1, bandwidth_bps, latency_s)
    below = np.arange(servers)
    above = below // per_switch if per_switch else below * switches // servers
    pairs = np.array(cables, np.int64).reshape(-1, 2) + servers
    ends = np.concatenate([below, pairs[:, 0]]), np.concatenate([above + servers, pairs[:, 1]])
    return topology_of_cables(family, servers, ends, bandwidth_bps, latency_s, servers + switches)


def _of_rows(
    family: str, servers: int, cables: list[tuple[int, int, float]], latency_s: float, nodes: int
) -> Topology:
    rows = np.array(cables, np.float64)
    check_numbers(family, servers, 1, float(rows[0, 2]), latency_s)
    ends = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    return topology_of_cables(family, servers, ends, rows[:, 2], latency_s, nodes)
