"""Repairs that move fibers: borrow a link of other traffic, wire anew, use what stands by."""

import itertools
from dataclasses import replace

import numpy as np

from topoopt.errors import Infeasible, InvalidInput
from topoopt.failure.detours import DetouredRoutes, detoured_rings
from topoopt.failure.failed import FailedPanel, FailedServer
from topoopt.failure.repair import Repair
from topoopt.failure.situation import Situation
from topoopt.finder import find_topology, lay_rings, routed_by
from topoopt.job import Job, job_on, job_traffic
from topoopt.plan import Plan
from topoopt.rewiring import Patch, Wiring, rewire
from topoopt.routing import Fabric
from topoopt.search import starting_strategy
from topoopt.topology import Topology, topology_from_arrays
from topoopt.traffic import Traffic


def borrow_link(situation: Situation) -> Repair:
    """Join the ends of a broken ring by ports of links that no ring uses; their far ends are joined, too.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, operations: a failed link of an AllReduce ring borrows one that is
       there for model-parallel traffic.
    """
    plan = situation.plan
    removed, made = _borrowed(situation)
    wiring = situation.left.changed(removed, made)
    links = [(patch.src, patch.dst) for patch in wiring.patches]
    topology = _direct(links if wiring.links == "directed" else links + [pair[::-1] for pair in links], plan)
    routes = DetouredRoutes(topology, plan.fabric.routes)
    fabric = Fabric(plan.fabric.name, topology, routes, detoured_rings(topology, plan.fabric.rings))
    return Repair(plan.job, plan.strategy, fabric, wiring, removed, made)


def wire_anew(situation: Situation) -> Repair:
    """Find a topology with one interface less, for the same strategy, and get there with the fewest moves.

    Links that are there and join interfaces which the new topology leaves idle stay.
    """
    plan, gone = situation.plan, 1
    if isinstance(situation.failure, FailedPanel):
        gone = len(situation.wiring.interfaces_of(situation.failure.panel))
    try:
        found = _found(plan.traffic(), plan.job.cluster.degree - gone, plan)
    except InvalidInput as error:
        raise Infeasible(str(error)) from None
    for topology in (_with_idle_links(found.topology, situation), found.topology):
        try:
            moves = rewire(situation.left, topology, relabel=False)
        except (Infeasible, InvalidInput) as error:
            reason = str(error)
            continue
        fabric = _fabric_on(topology, found, situation)
        return Repair(plan.job, plan.strategy, fabric, moves.new, moves.removed, moves.made)
    raise Infeasible(reason)


def flip_to_look_ahead(situation: Situation) -> Repair:
    """Patch the links of a dead panel on its look-ahead panel, and flip the 1×2 switches."""
    plan = situation.plan
    return Repair(plan.job, plan.strategy, plan.fabric, situation.wiring, (), situation.broken)


def spare_server(situation: Situation) -> Repair:
    """Give the place of a dead server to a spare one, whose number is that after the last."""
    assert isinstance(situation.failure, FailedServer)
    plan, dead, spare = situation.plan, situation.failure.server, situation.plan.job.cluster.servers
    made = []
    for patch in situation.broken:
        ends = [(patch.src, patch.src_interface), (patch.dst, patch.dst_interface)]
        ends = [(spare if server == dead else server, interface) for server, interface in ends]
        if situation.wiring.links == "duplex":
            ends.sort()
        made.append(Patch(*ends[0], *ends[1]))
    wiring = situation.left.changed((), made)
    return Repair(plan.job, plan.strategy, plan.fabric, wiring, situation.broken, tuple(made), restart=True)


def fewer_servers(situation: Situation) -> Repair:
    """Go on without the dead server: data parallelism on the others, wired for that with the fewest moves.

    Where the panels cannot carry the links of so many servers (cables around an odd number), one more is left out.
    """
    assert isinstance(situation.failure, FailedServer)
    plan, dead = situation.plan, situation.failure.server
    others = tuple(server for server in range(plan.job.cluster.servers) if server != dead)
    reason = "a job needs two servers"
    for servers in (others, others[:-1]):
        if len(servers) < 2:
            continue
        try:
            job = _job_on(plan, len(servers))
            strategy = starting_strategy(job)
            fabric = _found(job_traffic(job, strategy), job.cluster.degree, plan)
            moves = rewire(situation.left, fabric.topology, servers=servers)
        except (Infeasible, InvalidInput) as error:
            reason = str(error)
            continue
        return Repair(job, strategy, fabric, moves.new, moves.removed, moves.made, restart=True)
    raise Infeasible(reason)


def _found(traffic: Traffic, degree: int, plan: Plan) -> Fabric:
    """Return the fabric that the finder wires for traffic, by the rules of the plan."""
    cluster = plan.job.cluster
    return find_topology(
        traffic,
        degree=degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=plan.rules,
        seed=plan.provenance.seed,
    )


def _direct(links: list[tuple[int, int]], plan: Plan) -> Topology:
    """Return the topology of links with the bandwidth and latency of the plan's cluster."""
    cluster, count = plan.job.cluster, len(links)
    src, dst = np.array(links, np.int64).reshape(-1, 2).T
    speed, latency = np.full(count, cluster.link_bandwidth_bps), np.full(count, cluster.link_latency_s)
    return topology_from_arrays("direct", cluster.servers, src, dst, speed, latency)


def _borrowed(situation: Situation) -> tuple[tuple[Patch, ...], tuple[Patch, ...]]:
    """Return two patches that no ring uses, one at each end of the dead link, and what replaces them."""
    (dead,) = situation.broken
    wiring, used = situation.left, _pairs_of_rings(situation)
    if not {(dead.src, dead.dst), (dead.dst, dead.src)} & used:
        raise Infeasible("no ring uses the dead link")
    idle = [patch for patch in wiring.patches if not {(patch.src, patch.dst), (patch.dst, patch.src)} & used]
    for one, other in itertools.permutations(idle, 2):
        exchanged = _exchanged(one, other, dead, wiring)
        if exchanged is not None:
            return (one, other), exchanged
    raise Infeasible(
        "no panel has a link at both ends of the dead one that is there for model-parallel traffic alone"
    )


def _exchanged(one: Patch, other: Patch, dead: Patch, wiring: Wiring) -> tuple[Patch, ...] | None:
    """Return the patches that join ``dead``'s ends over the ports of two others on one panel, if these have them."""
    if wiring.panel_of(one) != wiring.panel_of(other):
        return None
    if wiring.links == "directed":
        if one.src != dead.src or other.dst != dead.dst:
            return None
        ends = [
            ((one.src, one.src_interface), (other.dst, other.dst_interface)),
            ((other.src, other.src_interface), (one.dst, one.dst_interface)),
        ]
    else:
        near, far = _turned(one, dead.src), _turned(other, dead.dst)
        if near is None or far is None:
            return None
        ends = [(near[0], far[0]), (near[1], far[1])]
    joined = [pair for pair in ends if pair[0][0] != pair[1][0]]
    if wiring.links == "duplex":
        joined = [(min(pair), max(pair)) for pair in joined]
    return tuple(Patch(*a, *b) for a, b in joined)


def _turned(patch: Patch, server: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the ends of a cable, that at ``server`` first; None if it does not end there."""
    ends = (patch.src, patch.src_interface), (patch.dst, patch.dst_interface)
    if server not in (patch.src, patch.dst):
        return None
    return ends if patch.src == server else (ends[1], ends[0])


def _pairs_of_rings(situation: Situation) -> set[tuple[int, int]]:
    rings = [ring for some in situation.plan.fabric.rings.values() for ring in some]
    return {pair for ring in rings for pair in zip(*(ends.tolist() for ends in ring.edges()), strict=True)}


def _with_idle_links(topology: Topology, situation: Situation) -> Topology:
    """Return the topology and, between interfaces that it leaves idle, links that are plugged in anyway."""
    cluster, duplex = situation.plan.job.cluster, situation.left.links == "duplex"
    out = cluster.degree - np.bincount(topology.src, topology.ports, topology.servers)
    into = cluster.degree - np.bincount(topology.dst, topology.ports, topology.servers)
    for side, server, _ in situation.left.dead:
        out[server] -= side in ("both", "out")
        into[server] -= side in ("both", "in")
    ends = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    has = dict(zip(ends, topology.ports.tolist(), strict=True))
    links = [pair for pair, ports in has.items() for _ in range(ports)]
    for patch in situation.left.patches:
        pair = patch.src, patch.dst
        if has.get(pair, 0) > 0:  # this one is in the topology already
            has[pair] -= 1
        elif out[patch.src] > 0 and (out if duplex else into)[patch.dst] > 0:
            for a, b in (pair, pair[::-1])[: 2 if duplex else 1]:
                links.append((a, b))
                out[a] -= 1
                into[b] -= 1
    return _direct(links, situation.plan)


def _fabric_on(topology: Topology, found: Fabric, situation: Situation) -> Fabric:
    """Return the found fabric on its own links, or on them and others, with rings and routes to suit."""
    if topology is found.topology:
        return found
    plan = situation.plan
    seed, degree = plan.provenance.seed, plan.job.cluster.degree
    routes = routed_by(topology, plan.rules, seed)
    rings = {members: lay_rings(topology, routes, members, degree, seed) for members in found.rings}
    return Fabric(plan.fabric.name, topology, routes, rings)


def _job_on(plan: Plan, servers: int) -> Job:
    """Return the job on fewer servers, as many samples on each as before."""
    job = plan.job
    cluster = replace(job.cluster, servers=servers, degree=min(job.cluster.degree, 4 * (servers - 1)))
    return job_on(job, cluster)
