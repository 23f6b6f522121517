"""Fabrics of circuits that follow the traffic: OCS-reconfig and SiP-ML, and their state between changes.

Which circuits a reconfigurable fabric sets up: at random at the start, then for the bytes that wait.

A set of circuits is an int64 array of shape (servers, servers): how many lead from the row's server to the
column's. Duplex circuits make it symmetric. No row and no column sums to more than the degree.

References
----------
.. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 5.1: the baselines OCS-reconfig and SiP-ML.
.. [2] M. Khani et al., "SiP-ML", SIGCOMM 2021: wavelengths of servers as one-way circuits.
"""

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.regional_circuits import Circuits, Demand, checked_demand
from topoopt.finder.topology_finder_kernel import take_circuits
from topoopt.routing import ROUTING, DirectRoutes, Fabric, Reconfiguration, beat
from topoopt.topologies import topology_from_arrays


def circuit_fabric(
    name: str, request: FabricRequest, delay_s: float, *, duplex: bool, host_forwarding: bool
) -> Fabric:
    """Return a fabric whose circuits all follow the traffic, with its random circuits of the start.

    Groups get no rings of their own: these go in member order over whatever circuits there are. The request may
    name another delay, with which the beat of changes goes, and whether servers forward.

    Parameters
    ----------
    delay_s : float
        Default duration of a change of circuits.
    duplex, host_forwarding : bool
        See :class:`topoopt.routing.Reconfiguration`; forwarding is a default, too.

    Raises
    ------
    InvalidInput
        If a number is out of range.
    """
    settings = request.shape.chosen(name, NETWORKS[name].settings)
    rule = Reconfiguration(
        request.degree,
        request.each_bps(),
        request.latency_s,
        *beat(settings.get("delay_s", delay_s)),
        duplex=duplex,
        host_forwarding=settings.get("host_forwarding", host_forwarding),
        seed=request.seed,
    )
    return reconfigurable_fabric(name, request.servers, rule)


def reconfigurable_fabric(name: str, servers: int, rule: Reconfiguration) -> Fabric:
    """Return a fabric that follows the rule, with the circuits of the start.

    Raises
    ------
    InvalidInput
        As :func:`topoopt.finder.first_circuits`.
    """
    return _wired(name, first_circuits(servers, rule), rule)


def rewired(fabric: Fabric, circuits: Circuits) -> Fabric:
    """Return the reconfigurable fabric with other circuits and the routes that go with them.

    With host forwarding these are ECMP over shortest paths between all servers; without, every pair has its
    own circuit or no route, see :func:`reached`.

    Parameters
    ----------
    circuits : int64 array, shape (servers, servers)
        Number of circuits of each ordered pair.
    """
    return _wired(fabric.name, circuits, fabric.beat)


def reached(fabric: Fabric, src: Ints, dst: Ints) -> Flags:
    """Return which ordered pairs of distinct servers have a route now, shape (pairs,)."""
    if fabric.reconfiguration is None or fabric.beat.host_forwarding:
        return np.ones(len(src), bool)
    return fabric.topology.link_ids(src, dst) >= 0


def _wired(name: str, circuits: Circuits, rule: Reconfiguration) -> Fabric:
    src, dst = np.nonzero(circuits)
    count = circuits[src, dst]
    src, dst = np.repeat(src, count), np.repeat(dst, count)
    topology = topology_from_arrays(name, len(circuits), src, dst, rule.bandwidth_bps, rule.latency_s)
    routes = ROUTING["ecmp"](topology, rule.seed) if rule.host_forwarding else DirectRoutes(topology)
    return Fabric(name, topology, routes, {}, rule)


def first_circuits(servers: int, rule: Reconfiguration) -> Circuits:
    """Return a random regular multigraph of duplex circuits, connected where servers forward.

    Every server has ``degree`` circuits; the last one fewer if servers × degree is odd.

    Raises
    ------
    InvalidInput
        If there are fewer than 2 servers, or servers that forward could not all be connected.
    """
    _check(servers, rule)
    rng = np.random.default_rng(rule.seed)
    ends = np.repeat(np.arange(servers), rule.degree)[: servers * rule.degree // 2 * 2]
    pairs = rng.permutation(ends).reshape(-1, 2)
    while (loops := np.flatnonzero(pairs[:, 0] == pairs[:, 1])).size:
        for loop, other in zip(loops, rng.integers(0, len(pairs), len(loops)), strict=True):
            pairs[loop, 1], pairs[other, 1] = pairs[other, 1], pairs[loop, 1]
    circuits = np.zeros((servers, servers), np.int64)
    np.add.at(circuits, (pairs[:, 0], pairs[:, 1]), 1)
    circuits += circuits.T
    if rule.host_forwarding:
        join_components(circuits, circuits.astype(np.float64), rule.degree)
    return circuits


def demand_circuits(demand_bytes: Demand, rule: Reconfiguration) -> Circuits:
    """Return the circuits for waiting bytes, directed or duplex by the rule.

    The pair with the most unsatisfied demand repeatedly gets a circuit, which halves its demand, until ports or
    demand run out; ties go to the first pair. With duplex circuits the demand of a pair is that of both
    directions; they then join separate components, see :func:`join_components`, or, without forwarding, use free
    ports only.

    The pair of most demand always gets a circuit of its own, so something is served after every change.

    Parameters
    ----------
    demand_bytes : float64 array, shape (servers, servers)
        Unacknowledged bytes of the transfers in progress, by source and destination; the diagonal is ignored.

    Raises
    ------
    InvalidInput
        If the demand is not square, negative or not finite, or as :func:`first_circuits`.
    """
    demand, servers = checked_demand(demand_bytes, rule.degree), len(demand_bytes)
    _check(servers, rule)
    circuits = np.zeros((servers, servers), np.int64)
    out_free, room = np.full(servers, rule.degree), np.empty(servers, np.int64)
    if not rule.duplex:
        take_circuits(demand, out_free, np.full(servers, rule.degree), circuits, room)
        return circuits
    both = demand + demand.T
    take_circuits(np.triu(both), out_free, out_free, circuits, room)
    circuits += circuits.T
    join_components(circuits, both, rule.degree, free_ports_only=not rule.host_forwarding)
    return circuits


def join_components(
    circuits: Circuits, demand: Demand, degree: int, *, free_ports_only: bool = False
) -> None:
    """Connect all servers by duplex circuits, in place, within the degree; idle servers come first.

    Two components with free ports get a circuit between the servers that have most of them. A component
    without gives up the circuit that serves least and that it stays connected without; there is one, since a
    connected graph whose servers all have two circuits or more has a cycle.

    Parameters
    ----------
    demand : float64 array, shape (servers, servers), symmetric
        Bytes in both directions; the last of the c circuits of a pair serves ``demand / 2^(c-1)``.
    free_ports_only : bool
        Break no circuit, so that components may stay apart.
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    count, label = connected_components(circuits, directed=False)
    free = degree - circuits.sum(axis=1)
    while count > 1:
        free_of = np.bincount(label, free, count)
        one, other = np.argsort(-free_of, kind="stable")[:2].tolist()
        if free_of[other] == 0:
            if free_ports_only:
                return
            for part in (one, other):
                if free_of[part] == 0:
                    _give_up(circuits, demand, label == part, free)
        both_ends = free_of[one] == 0  # each has given up one circuit
        for _ in range(2 if both_ends else 1):
            i, j = (int(np.argmax(np.where(label == part, free, -1))) for part in (one, other))
            circuits[[i, j], [j, i]] += 1
            free[[i, j]] -= 1
        label[label == other] = one
        label[label == count - 1] = other
        count -= 1


def _give_up(circuits: Circuits, demand: Demand, inside: Flags, free: Ints) -> None:
    """Remove the circuit of a component that serves least and is no bridge."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    i, j = np.nonzero(np.triu(circuits * inside))
    serves = demand[i, j] * 0.5 ** (circuits[i, j] - 1)
    parts = connected_components(circuits, directed=False)[0]
    for place in np.argsort(serves, kind="stable"):
        a, b = i[place], j[place]
        circuits[[a, b], [b, a]] -= 1
        if circuits[a, b] or connected_components(circuits, directed=False)[0] == parts:
            free[[a, b]] += 1
            return
        circuits[[a, b], [b, a]] += 1
    raise AssertionError("a component without free ports has a cycle")


def _check(servers: int, rule: Reconfiguration) -> None:
    if servers < 2:
        raise InvalidInput(f"circuits: need at least 2 servers, got {servers}")
    if rule.host_forwarding and rule.degree == 1 and servers > 2:
        raise InvalidInput(
            f"circuits: degree 1 cannot connect {servers} servers that forward; use 2 or more, or no forwarding"
        )
