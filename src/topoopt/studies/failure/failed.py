"""What can fail of a plan: a link, an interface, a server, a panel; and what is left of it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring import Patch, Wiring, wire
from topoopt.plans import Plan
from topoopt.studies.failure.detours import DetouredRoutes
from topoopt.topologies import Topology


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
        All patches before, and those that still work; what has failed is dead there.
    broken : tuple of Patch
    topology : Topology
        The links that are left.
    """

    plan: Plan
    failure: Failure
    wiring: Wiring
    left: Wiring
    broken: tuple[Patch, ...]
    topology: Topology

    @cached_property
    def routes(self) -> DetouredRoutes:
        """The plan's routes over the links that are left."""
        return DetouredRoutes(self.topology, self.plan.fabric.routes)


def situation(plan: Plan, failure: Failure) -> Situation:
    """Return what a failure leaves of a plan.

    Raises
    ------
    InvalidInput
        If there is nothing like that in the plan to fail, or the plan's fabric has switches.
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
    )


def plan_wiring(plan: Plan) -> Wiring:
    """Return how a plan is patched.

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
            return (_patch_of(src, dst, wiring, servers),)
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


def _patch_of(src: int, dst: int, wiring: Wiring, servers: int) -> Patch:
    _check("link", src, servers)
    _check("link", dst, servers)
    a, b = (min(src, dst), max(src, dst)) if wiring.links == "duplex" else (src, dst)
    parallel = [patch for patch in wiring.patches if (patch.src, patch.dst) == (a, b)]
    if parallel:
        return min(parallel, key=lambda patch: patch.src_interface)
    ends = [(patch.src, patch.dst) for patch in wiring.patches]
    neighbors = {b for a, b in ends if a == src}
    if wiring.links == "duplex":
        neighbors |= {a for a, b in ends if b == src}
    listed = ", ".join(str(one) for one in sorted(neighbors)) or "no other"
    raise InvalidInput(f"link: there is no link {src}-{dst}; server {src} is wired to {listed}")


def _check(what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise InvalidInput(f"{what}: expected a number in 0..{count - 1}, got {number}")
