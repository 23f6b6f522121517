"""Subject and Check: the plan or wiring that is verified, and one property proved of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import NoRoute
from topoopt.plans import Outcome, Plan
from topoopt.routing import EcmpRoutes, Path, PathArrays, Routes, path_arrays, used_paths
from topoopt.search import own_simulation
from topoopt.simulation import SimResult
from topoopt.topologies import DirectWiring, Topology, trees_to
from topoopt.topologies.wirings import PortedLinks

MOST_NAMED = 20
"""Most failures of a check that are listed with their place; beyond, their number is given."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes
    ----------
    name : str
        Name in the table of checks.
    looked_at : str
        Number and kind of items checked: ``1,728 cables``.
    failures : tuple of str
        The first failures, each with its place.
    skipped : str
        Reason why it was not checked; empty if it was.
    """

    name: str
    looked_at: str = ""
    failures: tuple[str, ...] = ()
    failed: int = 0
    skipped: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether no check failed; also true without checks."""
        return not self.failed


MOST_PATHS = 3_000_000
"""Equally short paths of all pairs that are listed; above, they are drawn, and links have shares only."""


@dataclass(frozen=True, eq=False)
class Routed:
    """The paths that carry something, of all ordered pairs of servers that have any; routes themselves, too.

    Attributes
    ----------
    src, dst : int64 arrays, shape (pairs,)
        Pairs, sorted in this order.
    listed : PathArrays
    lost : tuple of (source, destination)
        Pairs without a route.
    drawn : str
        Reason why the paths are a sample; empty where they are all.
    """

    method: str
    src: Ints
    dst: Ints
    listed: PathArrays
    lost: tuple[tuple[int, int], ...] = ()
    drawn: str = ""

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        pair = np.flatnonzero((self.src == src) & (self.dst == dst))
        if not len(pair):
            raise NoRoute(f"no route {src}->{dst}")
        first, last = self.listed.path_first[pair[0] : pair[0] + 2].tolist()
        return self.listed.listed()[first:last]

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of all pairs; subsets are not supported."""
        assert np.array_equal(src, self.src)
        assert np.array_equal(dst, self.dst)
        return self.listed

    @cached_property
    def pair(self) -> Ints:
        """The pair that each path is of."""
        return np.repeat(np.arange(len(self.src)), np.diff(self.listed.path_first))

    @cached_property
    def steps(self) -> tuple[Ints, Ints, Ints]:
        """Every step of all paths: the path it is of, and the nodes before and after it."""
        paths = self.listed
        path = np.repeat(np.arange(len(paths.weight)), np.diff(paths.node_first))
        within = path[1:] == path[:-1]
        nodes = paths.nodes.astype(np.int64)
        return path[1:][within], nodes[:-1][within], nodes[1:][within]

    @property
    def weight(self) -> Floats:
        """Share of its pair that takes each path."""
        return self.listed.weight


LARGEST_ROUTED = 1536
"""Servers up to which the paths of all pairs are followed: at 1,536 of them, 2.4 million pairs, a few gigabytes."""
_MOST_IN_A_TABLE = 2048  # nodes of which the link of every pair is looked up: 16 MB


@dataclass(frozen=True, eq=False)
class Subject:
    """Plan or wiring that is verified.

    Attributes
    ----------
    name : str
        File of the subject, or ``plan``.
    degree : int
        Interfaces of a server.
    links : str
        ``duplex`` or ``directed``.
    wiring : DirectWiring, optional
        Wiring of a wiring file; None for a plan.
    ports : PortedLinks, optional
        The port of every link end, if a wiring file has them.
    plan : Plan, optional
    document : mapping
        Content of a plan file, including fields that are not read since they follow from others.
    rings_found : bool
        Whether the rings of a wiring were looked for here.
    """

    name: str
    topology: Topology
    degree: int
    links: str
    wiring: DirectWiring | None = None
    ports: PortedLinks | None = None
    plan: Plan | None = None
    document: Mapping[str, Any] | None = None
    rings_found: bool = False

    @property
    def on_switches(self) -> bool:
        """Whether servers hang on switches."""
        return self.topology.nodes > self.topology.servers

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the servers, where a file of others gave them."""
        if self.wiring is not None:
            return self.wiring.names
        return () if self.plan is None else self.plan.server_names

    def server(self, number: int) -> str:
        """Return the name of a server for messages."""
        if number >= self.topology.servers:
            return f"switch {number}"
        return f"server {self.names[number] if self.names else number}"

    def pair(self, src: int, dst: int) -> str:
        """Return the name of a link or a pair for messages."""
        named = max(src, dst) < len(self.names)
        return f"{self.names[src]}->{self.names[dst]}" if named else f"{src}->{dst}"

    @property
    def no_routes(self) -> str:
        """Reason why routes are not checked; empty where they are."""
        if self.plan is None:
            return "a wiring has no routes; verify a plan on it"
        servers = self.topology.servers
        if servers > LARGEST_ROUTED:
            return (
                f"{servers * (servers - 1):,} pairs; those of up to {LARGEST_ROUTED:,} servers are followed"
            )
        return ""

    @cached_property
    def routed(self) -> Routed:
        """The routes of the plan, pair by pair."""
        assert self.plan is not None
        return routed_pairs(self.topology, self.plan.fabric.routes)

    @cached_property
    def step_links(self) -> Ints:
        """The link of every step of the routes, -1 where there is none."""
        _, src, dst = self.routed.steps
        topology = self.topology
        if topology.nodes > _MOST_IN_A_TABLE:
            return topology.link_ids(src, dst)
        table = np.full((topology.nodes, topology.nodes), -1, np.int32)
        table[topology.src, topology.dst] = np.arange(len(topology))
        known = (np.minimum(src, dst) >= 0) & (np.maximum(src, dst) < topology.nodes)
        return np.where(known, table[src * known, dst * known], -1).astype(np.int64)

    @cached_property
    def simulated(self) -> SimResult:
        """An iteration of the plan, simulated anew as it was."""
        assert self.plan is not None
        return own_simulation(self.plan)

    @property
    def stated(self) -> Outcome:
        """Iteration as stated by the plan."""
        assert self.plan is not None
        return self.plan.outcome


def subject_of_plan(plan: Plan, name: str = "plan", document: Mapping[str, Any] | None = None) -> Subject:
    """Return a plan as a subject of verification."""
    cluster = plan.job.cluster
    return Subject(name, plan.fabric.topology, cluster.degree, cluster.links, plan=plan, document=document)


def subject_of_wiring(
    wiring: DirectWiring, ports: PortedLinks | None, name: str, rings_found: bool = False
) -> Subject:
    """Return a wiring as a subject of verification; its rings may have been found, and not given."""
    return Subject(
        name, wiring.topology(), wiring.degree, wiring.links, wiring, ports, rings_found=rings_found
    )


def routed_pairs(topology: Topology, routes: Routes) -> Routed:
    """Return the paths of every ordered pair of servers."""
    src, dst = np.divmod(np.arange(topology.servers**2), topology.servers)
    apart = src != dst
    drawn = ""
    if isinstance(routes, EcmpRoutes):
        routes, drawn = _all_shortest(topology, routes)
    return _routed(routes, src[apart], dst[apart], drawn)


def _all_shortest(topology: Topology, routes: EcmpRoutes) -> tuple[EcmpRoutes, str]:
    """Return routes with every shortest path, where they are not too many; otherwise the given ones, and the reason."""
    ways = trees_to(topology, np.arange(topology.servers)).ways[:, : topology.servers]
    most = int(min(ways.max(initial=0), 2.0**31))
    if float(ways.sum()) > MOST_PATHS:
        return routes, f"pairs have up to {most:,} shortest paths, and {routes.limit} of them are listed"
    return replace(routes, limit=max(most, 1)), ""


def _routed(routes: Routes, src: Ints, dst: Ints, drawn: str) -> Routed:
    try:
        return Routed(routes.method, src, dst, used_paths(path_arrays(routes, src, dst)), drawn=drawn)
    except NoRoute:
        pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
        lost = tuple(pair for pair in pairs if not _has_route(routes, *pair))
        if not lost:
            raise
        gone = set(lost)
        kept = np.array([pair not in gone for pair in pairs])
        return replace(_routed(routes, src[kept], dst[kept], drawn), lost=lost)


def _has_route(routes: Routes, src: int, dst: int) -> bool:
    try:
        return bool(routes.paths(src, dst))
    except NoRoute:
        return False


def checked(name: str, looked_at: str, failures: Iterable[str], note: str = "") -> Check:
    """Return the check of these failures; all are counted, the first ones are named."""
    wrong = iter(failures)
    named = tuple(islice(wrong, MOST_NAMED))
    return Check(name, looked_at, named, len(named) + sum(1 for _ in wrong), note=note)


def counted(count: int, one: str, many: str = "") -> str:
    """Return ``1 cable``, ``1,728 cables``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
