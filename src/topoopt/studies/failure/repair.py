"""Repairs after a failure: without moves, over the remaining links; with moves, or with spares."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import STRIDES, WIRING_NAMES, find_topology, is_wiring_file, lay_rings, routed_by
from topoopt.finder.rewiring import End, Patch, Wiring, rewire
from topoopt.jobs import Job, job_on, job_traffic
from topoopt.plans import Plan
from topoopt.routing import Fabric
from topoopt.schema.words import as_flag
from topoopt.search import starting_strategy
from topoopt.studies.failure.fault import (
    DetouredRoutes,
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    Rings,
    Situation,
    detoured_rings,
    rings_left,
    spread_rings,
)
from topoopt.topologies import Topology, topology_from_arrays
from topoopt.topologies.wirings import LIFTED
from topoopt.workloads import ParallelStrategy, Traffic


@dataclass(frozen=True, eq=False)
class Repair:
    """A repair, ready to be simulated.

    Attributes
    ----------
    job, strategy, fabric
        Job and fabric after the repair; the job may have fewer servers.
    removed, made : tuple of Patch
        The moves from the wiring after the failure. A broken fiber that stays in its ports is none of them.
    restart : bool
        Whether the job starts again from its last checkpoint.
    """

    job: Job
    strategy: ParallelStrategy
    fabric: Fabric
    wiring: Wiring
    removed: tuple[Patch, ...] = ()
    made: tuple[Patch, ...] = ()
    restart: bool = False

    @property
    def moved_fibers(self) -> int:
        """Fibers to touch."""
        return max(len(self.removed), len(self.made))


@dataclass(frozen=True, slots=True)
class Way:
    """A kind of repair.

    Attributes
    ----------
    of : function from a situation to a repair
        Raises Infeasible or NoRoute, with the reason, where it does not help.
    failures : tuple of kinds of failure that it is meant for
    otherwise : str
        Reason why it does not apply to the others.
    """

    name: str
    description: str
    of: Callable[[Situation], Repair]
    failures: tuple[type[Failure], ...]
    otherwise: str


def on_detours(situation: Situation) -> Repair:
    """Relay around the dead links: the immediate reaction, by forwarding in the servers."""
    return _over(situation, detoured_rings(situation.topology, situation.plan.fabric.rings))


def on_whole_rings(situation: Situation) -> Repair:
    """Drop broken rings; the others carry their part."""
    left = rings_left(situation.topology, situation.plan.fabric.rings)
    if left is None:
        raise Infeasible("some group has no ring left that is whole, or none is broken")
    return _over(situation, left)


def on_spread_detours(situation: Situation) -> Repair:
    """Lay every ring several times, with different detours, so that no link has to carry twice as much."""
    return _over(situation, spread_rings(situation.topology, situation.plan.fabric.rings))


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
        anew = _wired(plan.traffic(), plan.job.cluster.degree - gone, plan)
    except InvalidInput as error:
        raise Infeasible(str(error)) from None
    for topology in (_with_idle_links(anew.topology, situation), anew.topology):
        try:
            moves = rewire(situation.left, topology, relabel=False)
        except (Infeasible, InvalidInput) as error:
            reason = str(error)
            continue
        fabric = _fabric_on(topology, anew, situation)
        return Repair(plan.job, plan.strategy, fabric, moves.new, moves.removed, moves.made)
    raise Infeasible(reason)


def flip_to_look_ahead(situation: Situation) -> Repair:
    """Patch the links of a dead panel on its look-ahead panel, and flip the 1×2 switches."""
    if not situation.look_ahead:
        flag = as_flag("look_ahead")
        raise Infeasible(f"the plan's price counts no look-ahead panel; {flag} says that there is one")
    plan = situation.plan
    return Repair(plan.job, plan.strategy, plan.fabric, situation.wiring, (), situation.broken)


def spare_server(situation: Situation) -> Repair:
    """Replace a dead server by a spare one, whose number is that after the last."""
    assert isinstance(situation.failure, FailedServer)
    plan, dead, spare = situation.plan, situation.failure.server, situation.plan.job.cluster.servers
    made = []
    for patch in situation.broken:
        one, other = ((spare if server == dead else server, interface) for server, interface in patch.ends)
        made.append(situation.wiring.joined(one, other))
    wiring = situation.left.changed((), made)
    return Repair(plan.job, plan.strategy, plan.fabric, wiring, situation.broken, tuple(made), restart=True)


def fewer_servers(situation: Situation) -> Repair:
    """Continue without the dead server: data parallelism on the others, wired for that with the fewest moves.

    Each server has as many samples as before. Where the panels cannot carry the links of that many servers (cables
    around an odd number), one more is left out.
    """
    assert isinstance(situation.failure, FailedServer)
    plan, cluster, dead = situation.plan, situation.plan.job.cluster, situation.failure.server
    others = tuple(server for server in range(cluster.servers) if server != dead)
    reason = "a job needs two servers"
    for servers in (others, others[:-1]):
        if len(servers) < 2:
            continue
        try:
            degree = min(cluster.degree, 4 * (len(servers) - 1))
            job = job_on(plan.job, replace(cluster, servers=len(servers), degree=degree))
            strategy = starting_strategy(job)
            fabric = _wired(job_traffic(job, strategy), degree, plan)
            moves = rewire(situation.left, fabric.topology, servers=servers)
        except (Infeasible, InvalidInput) as error:
            reason = str(error)
            continue
        return Repair(job, strategy, fabric, moves.new, moves.removed, moves.made, restart=True)
    raise Infeasible(reason)


def _over(situation: Situation, rings: Rings) -> Repair:
    plan, topology = situation.plan, situation.topology
    fabric = Fabric(plan.fabric.name, topology, situation.routes, rings)
    return Repair(plan.job, plan.strategy, fabric, situation.left)


def _wired(traffic: Traffic, degree: int, plan: Plan) -> Fabric:
    """Return the fabric that the finder wires for traffic by the rules of the plan, of its family if that exists."""
    cluster = plan.job.cluster
    # what to wire: the plan's family; a wiring file joins only those servers that it says, in its own way
    own = plan.rules.wiring
    if is_wiring_file(own):
        own = plan.wiring.family if plan.wiring is not None else LIFTED
    known = (name for name in (own, LIFTED) if name in WIRING_NAMES or ":" in name)
    families = (STRIDES,) if own == STRIDES else tuple(dict.fromkeys((*known, STRIDES)))
    for wiring in families:
        try:
            return find_topology(
                traffic,
                degree=degree,
                bandwidth_bps=cluster.link_bandwidth_bps,
                latency_s=cluster.link_latency_s,
                links=cluster.links,
                rules=replace(plan.rules, wiring=wiring),
                seed=plan.provenance.seed,
            )
        except Infeasible:
            if wiring == STRIDES:
                raise
    raise Infeasible(f"no wiring of {degree} interfaces is known")


def _direct(links: list[tuple[int, int]], plan: Plan) -> Topology:
    """Return the topology of links with the bandwidth and latency of the plan's cluster."""
    cluster, count = plan.job.cluster, len(links)
    src, dst = np.array(links, np.int64).reshape(-1, 2).T
    speed, latency = np.full(count, cluster.link_bandwidth_bps), np.full(count, cluster.link_latency_s)
    return topology_from_arrays("direct", cluster.servers, src, dst, speed, latency)


def _borrowed(situation: Situation) -> tuple[tuple[Patch, ...], tuple[Patch, ...]]:
    """Return two patches that no ring uses, one at each end of the dead link, and their replacement."""
    (dead,) = situation.broken
    rings = [ring for some in situation.plan.fabric.rings.values() for ring in some]
    pairs_of_rings = {
        pair for ring in rings for pair in zip(*(ends.tolist() for ends in ring.edges()), strict=True)
    }
    wiring, used = situation.left, pairs_of_rings
    if not {(dead.src, dead.dst), (dead.dst, dead.src)} & used:
        raise Infeasible("no ring uses the dead link")
    idle = [patch for patch in wiring.patches if not {(patch.src, patch.dst), (patch.dst, patch.src)} & used]
    for one, other in itertools.permutations(idle, 2):
        near, far = _turned(one, dead.src), _turned(other, dead.dst)
        if wiring.panel_of(one) != wiring.panel_of(other) or near is None or far is None:
            exchanged = None
        elif wiring.links == "directed" and (near[0], far[1]) != (one.ends[0], other.ends[0]):
            exchanged = None  # a fiber has a direction
        else:
            pairs = (near[0], far[0]), (far[1], near[1])
            exchanged = tuple(wiring.joined(a, b) for a, b in pairs if a[0] != b[0])
        if exchanged is not None:
            return (one, other), exchanged
    raise Infeasible(
        "no panel has a link at both ends of the dead one that is there for model-parallel traffic alone"
    )


def _turned(patch: Patch, server: int) -> tuple[End, End] | None:
    """Return the ends of a patch, that at ``server`` first; None if it does not end there."""
    if server not in (patch.src, patch.dst):
        return None
    return patch.ends if patch.src == server else patch.ends[::-1]


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


def _fabric_on(topology: Topology, anew: Fabric, situation: Situation) -> Fabric:
    """Return a new fabric on its own links, or on them and others, with rings and routes to suit."""
    if topology is anew.topology:
        return anew
    plan = situation.plan
    seed, degree = plan.provenance.seed, plan.job.cluster.degree
    routes = routed_by(topology, plan.rules, seed)
    rings = {members: lay_rings(topology, routes, members, degree, seed) for members in anew.rings}
    return Fabric(plan.fabric.name, topology, routes, rings)


AT_ONCE = "detour"
_ON_LINKS = (FailedLink, FailedInterface, FailedPanel), "part of the job was on the failed server"
_OF_SERVERS = (FailedServer,), "no server has failed"
_OF_ONE_LINK = (FailedLink,), "one link is borrowed for one, not for those of a whole panel or server"
_OF_PANELS = (FailedPanel,), "only a panel has another one behind the same switches"
WAYS: Mapping[str, Way] = {
    way.name: way
    for way in (
        Way(AT_ONCE, "servers relay around the dead links; nothing else changes", on_detours, *_ON_LINKS),
        Way("whole-rings", "AllReduce on the rings that are whole", on_whole_rings, *_ON_LINKS),
        Way(
            "spread-detours", "each ring several times, with different detours", on_spread_detours, *_ON_LINKS
        ),
        Way("borrow", "the ring takes over a link of model-parallel traffic", borrow_link, *_OF_ONE_LINK),
        Way("re-plan", "a new topology with one interface less, same strategy", wire_anew, *_ON_LINKS),
        Way("look-ahead", "the panel's links on the look-ahead panel", flip_to_look_ahead, *_OF_PANELS),
        Way("spare", "a spare server in the place of the dead one", spare_server, *_OF_SERVERS),
        Way("fewer-servers", "data parallel on the servers that are left", fewer_servers, *_OF_SERVERS),
    )
}
"""Kinds of repair by name, in the order in which they are tried."""
