"""Failures of a plan's links, interfaces, servers and panels, and the network that remains."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.finder import busiest_share
from topoopt.finder.rewiring import Patch, Wiring, wire
from topoopt.plans import Plan
from topoopt.routing import (
    ExplicitRoutes,
    KShortestRoutes,
    Path,
    PathArrays,
    Routes,
    explicit_routes,
    path_arrays,
    used_paths,
)
from topoopt.topologies import Ring, Topology

Rings = Mapping[tuple[int, ...], tuple[Ring, ...]]
Onward = Mapping[int, Sequence[tuple[int, int]]]
"""Outgoing links by node: pairs of destination and link index."""
MOST_COPIES = 8
"""Copies of every ring that are tried, each with other detours."""
_MOST_DETOURS = 256  # of all copies together; after that more copies take longer than they are worth


@dataclass(frozen=True, eq=False)
class DetouredRoutes:
    """Routes after a failure: intact paths share the bytes of the dead ones.

    A pair whose paths are all dead takes the remaining shortest ones. The routes of all other pairs stay.
    """

    topology: Topology
    before: Routes
    method: ClassVar[str] = "detoured"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        return self.path_arrays(np.array([src]), np.array([dst])).listed()

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        before = path_arrays(self.before, src, dst)
        path_of = np.repeat(np.arange(len(before.weight)), np.diff(before.node_first))
        inner = (
            path_of[1:] == path_of[:-1]
        )  # the step from a path's last node to the next path's first is none
        nodes = before.nodes.astype(np.int64)
        missing = inner & (self.topology.link_ids(nodes[:-1], nodes[1:]) < 0)
        whole = np.asarray(np.bincount(path_of[:-1], missing, len(before.weight)) == 0)
        kept = before.weight * whole
        pair = np.repeat(np.arange(len(src)), np.diff(before.path_first))
        total = np.bincount(pair, kept, len(src))
        lost = np.flatnonzero((np.diff(before.path_first) > 0) & (total <= 0))
        share = replace(
            before, weight=np.divide(kept, total[pair], out=np.zeros_like(kept), where=total[pair] > 0)
        )
        around = KShortestRoutes(self.topology).path_arrays(src[lost], dst[lost])
        # the paths of all pairs; those of `pairs` are the others', and these have none among the first
        some = used_paths(share)
        count = len(some.path_first) - 1
        owner = np.concatenate(
            [
                np.repeat(np.arange(count), np.diff(some.path_first)),
                np.repeat(lost, np.diff(around.path_first)),
            ]
        )
        order = np.argsort(owner, kind="stable")
        size = np.concatenate([np.diff(some.node_first), np.diff(around.node_first)])
        start = np.concatenate([some.node_first[:-1], around.node_first[:-1] + some.node_first[-1]])
        first = np.concatenate(([0], np.cumsum(size[order])))
        # Every path's nodes are copied from where they start, one run after the other.
        at = np.arange(first[-1]) + np.repeat(start[order] - first[:-1], size[order])
        return PathArrays(
            np.searchsorted(owner[order], np.arange(count + 1)).astype(np.int64),
            first.astype(np.int64),
            np.concatenate([some.nodes, around.nodes])[at],
            np.concatenate([some.weight, around.weight])[order],
        )

    def written_down(self, pairs: Iterable[tuple[int, int]]) -> ExplicitRoutes:
        """Return the routes as a table that a plan file can hold."""
        src, dst = np.array(list(pairs), np.int64).reshape(-1, 2).T
        return explicit_routes(self.topology, self.path_arrays(src, dst).listed())


@dataclass(frozen=True, slots=True)
class FailedLink:
    """One cable between two servers (duplex), or the fiber from the first to the second (directed)."""

    src: int
    dst: int

    def __str__(self) -> str:
        return f"link {self.src}-{self.dst}"


@dataclass(frozen=True, slots=True)
class FailedInterface:
    """One port of a server: its cable, or the fiber out and the fiber in."""

    server: int
    interface: int

    def __str__(self) -> str:
        return f"interface {self.interface} of server {self.server}"


@dataclass(frozen=True, slots=True)
class FailedServer:
    """A server with all its interfaces."""

    server: int

    def __str__(self) -> str:
        return f"server {self.server}"


@dataclass(frozen=True, slots=True)
class FailedPanel:
    """A panel or optical switch: everything that is patched through it."""

    panel: int

    def __str__(self) -> str:
        return f"panel {self.panel}"


Failure = FailedLink | FailedInterface | FailedServer | FailedPanel


@dataclass(frozen=True, eq=False)
class Situation:
    """A plan after a failure; make it with :func:`situation`.

    Attributes
    ----------
    wiring, left : Wiring
        All patches before, and the remaining ones; failed ones are dead there.
    broken : tuple of Patch
    topology : Topology
        The remaining links.
    look_ahead : bool
        Whether every panel has a look-ahead panel.
    """

    plan: Plan
    failure: Failure
    wiring: Wiring
    left: Wiring
    broken: tuple[Patch, ...]
    topology: Topology
    look_ahead: bool = False

    @cached_property
    def routes(self) -> DetouredRoutes:
        """The plan's routes over the remaining links."""
        return DetouredRoutes(self.topology, self.plan.fabric.routes)


def situation(plan: Plan, failure: Failure, look_ahead: bool = False) -> Situation:
    """Return a plan's state after a failure.

    Parameters
    ----------
    look_ahead
        Whether every panel has a look-ahead panel, also where the plan's accounting counts none.

    Raises
    ------
    InvalidInput
        If the plan has no such part, or the plan's fabric has switches.
    """
    wiring = plan_wiring(plan)
    broken = broken_patches(failure, wiring, plan.job.cluster.servers)
    return Situation(
        plan,
        failure,
        wiring,
        without(wiring, failure, broken),
        broken,
        without_links(plan.fabric.topology, wiring, broken),
        look_ahead or counts_look_ahead(plan),
    )


def counts_look_ahead(plan: Plan) -> bool:
    """Return whether the accounting of a plan's price counts a look-ahead panel behind every panel."""
    return bool((plan.price.get("accounting") or {}).get("look_ahead"))


def plan_wiring(plan: Plan) -> Wiring:
    """Return the patches of a plan.

    Raises
    ------
    InvalidInput
        If its servers hang on switches, or its circuits change.
    """
    fabric, cluster = plan.fabric, plan.job.cluster
    if fabric.topology.nodes > fabric.topology.servers or fabric.reconfiguration is not None:
        raise InvalidInput(
            f"fail: the plan's fabric is {fabric.name}; expected one of fixed links from server to server"
        )
    return wire(fabric.topology, cluster.degree, cluster.links)


def broken_patches(failure: Failure, wiring: Wiring, servers: int) -> tuple[Patch, ...]:
    """Return the patches that carry nothing after a failure.

    Raises
    ------
    InvalidInput
        If there is no such link, interface, server or panel.
    """
    match failure:
        case FailedLink(src, dst):
            _check("link", src, servers)
            _check("link", dst, servers)
            a, b = (min(src, dst), max(src, dst)) if wiring.links == "duplex" else (src, dst)
            parallel = [patch for patch in wiring.patches if (patch.src, patch.dst) == (a, b)]
            if parallel:
                patch_of = min(parallel, key=lambda patch: patch.src_interface)
            else:
                ends = [(patch.src, patch.dst) for patch in wiring.patches]
                neighbors = {b for a, b in ends if a == src}
                if wiring.links == "duplex":
                    neighbors |= {a for a, b in ends if b == src}
                listed = ", ".join(str(one) for one in sorted(neighbors)) or "no other"
                raise InvalidInput(f"link: there is no link {src}-{dst}; server {src} is wired to {listed}")
            return (patch_of,)
        case FailedInterface(server, interface):
            _check("server", server, servers)
            _check("interface", interface, wiring.degree)
            ports = {(side, server, interface) for side in ("both", "out", "in")}
            return tuple(patch for patch in wiring.patches if ports.intersection(wiring.ports(patch)))
        case FailedServer(server):
            _check("server", server, servers)
            return wiring.touching([server])
        case FailedPanel(panel):
            _check("panel", panel, wiring.panels)
            return tuple(patch for patch in wiring.patches if wiring.panel_of(patch) == panel)


def without(wiring: Wiring, failure: Failure, broken: tuple[Patch, ...]) -> Wiring:
    """Return the wiring without the broken patches; the ports that they had, or a panel's, stay empty."""
    dead = {port for patch in broken for port in wiring.ports(patch)}
    if isinstance(failure, FailedServer):
        dead = {port for port in dead if port[1] == failure.server}  # the other ends are free for others
    gone = set(broken)
    left = tuple(patch for patch in wiring.patches if patch not in gone)
    if isinstance(failure, FailedPanel):
        sides = ("both",) if wiring.links == "duplex" else ("out", "in")
        servers = {server for patch in wiring.patches for server in (patch.src, patch.dst)}
        interfaces = wiring.interfaces_of(failure.panel)
        dead |= {(side, server, i) for side in sides for server in servers for i in interfaces}
    return replace(wiring, patches=left, dead=frozenset(dead))


def without_links(topology: Topology, wiring: Wiring, broken: tuple[Patch, ...]) -> Topology:
    """Return the links that survive; of parallel links the others stay."""
    ports = topology.ports.copy()
    for patch in broken:
        ports[topology.link_id(patch.src, patch.dst)] -= 1
        if wiring.links == "duplex":
            ports[topology.link_id(patch.dst, patch.src)] -= 1
    left = np.flatnonzero(ports > 0)
    return Topology(
        "direct",
        topology.servers,
        topology.nodes,
        topology.src[left],
        topology.dst[left],
        ports[left],
        topology.bandwidth_bps[left] * ports[left] / topology.ports[left],
        topology.latency_s[left],
    )


def _check(what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise InvalidInput(f"{what}: expected a number in 0..{count - 1}, got {number}")


def is_whole(topology: Topology, ring: Ring) -> bool:
    """Return whether all links of a ring's walk are there."""
    return bool((topology.link_ids(*ring.edges()) >= 0).all())


def rings_left(topology: Topology, rings: Rings) -> Rings | None:
    """Return the rings that are whole; None where a group has none left, or nothing is broken."""
    left = {members: tuple(r for r in some if is_whole(topology, r)) for members, some in rings.items()}
    broken = any(len(left[members]) < len(rings[members]) for members in rings)
    return left if broken and all(left.values()) else None


def detoured_rings(topology: Topology, rings: Rings) -> Rings:
    """Return the rings with every dead link replaced by a detour.

    Detours avoid links that are already walked more often than others, and are as short as they can be with that.

    Raises
    ------
    NoRoute
        If no path avoids it.
    """
    return {members: _around(topology, some, 1) for members, some in rings.items()}


def spread_rings(topology: Topology, rings: Rings) -> Rings:
    """Return the rings, repeated so as to minimize the busiest link's load in each group.

    A server with one of its d links dead can at best send an AllReduce at (d-1)/d of its speed; copies with different
    detours over different paths reach that, where a single one would halve the speed.
    """
    spread = {}
    for members, some in rings.items():
        broken = sum(int((topology.link_ids(*ring.edges()) < 0).sum()) for ring in some)
        most = min(MOST_COPIES, max(1, _MOST_DETOURS // max(broken, 1))) if broken else 1
        tried = [_around(topology, some, copies) for copies in range(1, most + 1)]
        spread[members] = min(tried, key=lambda laid: (round(busiest_share(topology, laid), 9), len(laid)))
    return spread


def _around(topology: Topology, rings: Sequence[Ring], copies: int) -> tuple[Ring, ...]:
    walked = np.zeros(len(topology))
    for ring in rings:
        ids = topology.link_ids(*ring.edges())
        walked += copies * np.bincount(ids[ids >= 0], minlength=len(topology))
    onward, laid = _onward(topology), []
    for _ in range(copies):
        for ring in rings:
            laid.append(ring if is_whole(topology, ring) else _relayed(topology, onward, ring, walked))
    return tuple(laid)


def _onward(topology: Topology) -> Onward:
    ends = sorted(zip(topology.src.tolist(), topology.dst.tolist(), range(len(topology)), strict=True))
    return {node: [(b, link) for _, b, link in some] for node, some in itertools.groupby(ends, itemgetter(0))}


def _relayed(topology: Topology, onward: Onward, ring: Ring, walked: Floats) -> Ring:
    walk: list[int] = []
    for src, dst in zip(ring.walk, (*ring.walk[1:], ring.walk[0]), strict=True):
        walk.append(src)
        if topology.link_id(src, dst) < 0:
            detour = _least_walked(topology, onward, walked, src, dst)
            for a, b in itertools.pairwise(detour):
                walked[topology.link_id(a, b)] += 1
            walk.extend(detour[1:-1])
    return Ring(ring.stride, tuple(walk), ring.members)


def _least_walked(topology: Topology, onward: Onward, walked: Floats, src: int, dst: int) -> tuple[int, ...]:
    """Return the shortest of the paths whose busiest link is the least busy."""
    load = (walked + 1) / topology.ports
    for level in np.unique(load):
        path = _shortest(onward, (load <= level).tolist(), src, dst)
        if path:
            return path
    raise NoRoute(
        f"no route {src}->{dst}: the links that are left do not connect them; replace what has failed"
    )


def _shortest(onward: Onward, usable: Sequence[bool], src: int, dst: int) -> tuple[int, ...]:
    came_from, reached = {src: src}, [src]
    for node in reached:
        for other, link in onward.get(node, ()):
            if usable[link] and other not in came_from:
                came_from[other] = node
                reached.append(other)
    if dst not in came_from:
        return ()
    path = [dst]
    while path[-1] != src:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
