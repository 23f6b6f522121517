"""The noun Subject: the plan or wiring that is verified, with what several checks need of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.plans import Outcome, Plan
from topoopt.search import own_simulation
from topoopt.simulation import SimResult
from topoopt.studies.verification.routed import Routed, routed_pairs
from topoopt.topologies import DirectWiring, Topology
from topoopt.topologies.wirings import PortedLinks

LARGEST_ROUTED = 1536
"""Servers up to which the paths of all pairs are followed: at 1,536 of them, 2.4 million pairs, a few gigabytes."""
_MOST_IN_A_TABLE = 2048  # nodes of which the link of every pair is looked up: 16 MB


@dataclass(frozen=True, eq=False)
class Subject:
    """What is verified.

    Attributes
    ----------
    name : str
        Its file, or ``plan``.
    degree : int
        Interfaces of a server.
    links : str
        ``duplex`` or ``directed``.
    wiring : DirectWiring, optional
        Of a wiring file; None of a plan.
    ports : PortedLinks, optional
        The port of every link end, where a wiring file says them.
    plan : Plan, optional
    document : mapping
        What a plan file says, also what nobody reads because it follows from the rest.
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
        """Return what a server is called in a message."""
        if number >= self.topology.servers:
            return f"switch {number}"
        return f"server {self.names[number] if self.names else number}"

    def pair(self, src: int, dst: int) -> str:
        """Return what a link or a pair is called in a message."""
        return f"{self.names[src]}->{self.names[dst]}" if self._named(src, dst) else f"{src}->{dst}"

    def _named(self, *nodes: int) -> bool:
        return bool(self.names) and max(nodes) < len(self.names)

    @property
    def no_routes(self) -> str:
        """Why no routes are looked at; empty where they are."""
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
        """What the plan says that an iteration takes."""
        assert self.plan is not None
        return self.plan.outcome


def subject_of_plan(plan: Plan, name: str = "plan", document: Mapping[str, Any] | None = None) -> Subject:
    """Return a plan as what is verified."""
    cluster = plan.job.cluster
    return Subject(name, plan.fabric.topology, cluster.degree, cluster.links, plan=plan, document=document)


def subject_of_wiring(
    wiring: DirectWiring, ports: PortedLinks | None, name: str, rings_found: bool = False
) -> Subject:
    """Return a wiring as what is verified; its rings may have been found, and not given."""
    return Subject(
        name, wiring.topology(), wiring.degree, wiring.links, wiring, ports, rings_found=rings_found
    )
