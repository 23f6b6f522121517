"""Question: model, hardware, requests and objectives; and given deployments, also as a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec
from topoopt.inference.deployment import Deployment
from topoopt.inference.fabric_comparison import Priced
from topoopt.inference.kv_transfer import TransferLaw, transfer_law
from topoopt.inference.memory import cache_bytes_per_token, cache_copies
from topoopt.inference.network.placement import PAIRINGS, place
from topoopt.inference.network.traffic import USUAL, SentBy
from topoopt.inference.requests import Objectives
from topoopt.inference.search.candidates import Candidate, Limits
from topoopt.inference.search.closed_form import Demand, Machine
from topoopt.inference.simulator import Failure, Fleet, Replicas, RoleRule, uniform_transfer
from topoopt.pricing import Ownership


@dataclass(frozen=True, slots=True, eq=False)
class NetworkQuestion:
    """Options of the networks to compare.

    Attributes
    ----------
    cluster : ClusterSpec
        Servers and their ports.
    fabrics : tuple of str
        Names of ``topoopt.catalog.networks_of("serving")``.
    pairings : tuple of str
        Names in :data:`topoopt.inference.PAIRINGS` that the router supports.
    sent : SentBy
        Formats of tokens sent to experts.
    assumed : str
        The interfaces of a server that were taken because none were given.
    """

    cluster: ClusterSpec
    fabrics: tuple[str, ...]
    priced: Priced
    pairings: tuple[str, ...] = tuple(PAIRINGS)
    sent: SentBy = USUAL
    assumed: str = ""


USUAL_ROUTER = "least-loaded"
FREE_BYTES_PER_S = 1e18
"""Bandwidth of an ideal network."""


@dataclass(frozen=True, slots=True)
class Way:
    """Transfer of KV caches between pools.

    Attributes
    ----------
    bytes_per_s : float
        Nominal bandwidth per accelerator; those of a replica send in parallel. Between servers, a fabric replaces
        it.
    law : TransferLaw
        Setup time of a transfer, and the share of that bandwidth that it reaches.
    layerwise : bool
        Whether layers are sent during the prefill of others.
    """

    bytes_per_s: float
    law: TransferLaw = field(default_factory=transfer_law)
    layerwise: bool = True


@dataclass(frozen=True, slots=True)
class ServerFailure:
    """A server that is down for a while, with all replicas that have an accelerator on it, and its links."""

    server: int
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Parameters of a search for deployments.

    Attributes
    ----------
    fixed, fixed_prefill : mapping of str to int
        Given degrees of decode or combined replicas, and of prefill replicas.
    router : str or None
        Routing policy; None for the default one.
    failures, server_failures : sequences of Failure, ServerFailure
    owned : Ownership or None
        Cost of the hardware of one server.
    network : NetworkQuestion or None
        Networks of several servers; None where all accelerators are in one.
    cells : int
        Equal services side by side, each with its own network, router and share of the requests; everything else is
        of one of them.
    top : int
        Deployments that are simulated for each mode, and shown.
    """

    machine: Machine
    demand: Demand
    objectives: Objectives
    limits: Limits
    way: Way
    fixed: Mapping[str, int] = field(default_factory=dict)
    fixed_prefill: Mapping[str, int] = field(default_factory=dict)
    router: str | None = None
    failures: Sequence[Failure] = ()
    server_failures: Sequence[ServerFailure] = ()
    roles: RoleRule | None = None
    owned: Ownership | None = None
    network: NetworkQuestion | None = None
    top: int = 3
    seed: int = 0
    cells: int = 1

    @property
    def accelerators(self) -> int:
        """Accelerators of all cells."""
        return self.limits.accelerators * self.cells

    @property
    def in_each(self) -> str:
        """Words behind a deployment of a cell, where there are several."""
        return f" in each of {self.cells} cells" if self.cells > 1 else ""

    def fleet(self, one: Candidate) -> Fleet:
        """Return a candidate as the simulator takes it; of several servers on a network that takes no time."""
        deployment, settings, model = one.deployment, self.machine.settings, self.machine.model
        router = self.router or USUAL_ROUTER

        def pages(tokens: int) -> int:
            return tokens // settings.page_tokens

        failures = self._failures(deployment)
        decode = Replicas(deployment.decode, one.decode.table, pages(one.decode.cache_tokens))
        if deployment.prefill is None:
            return Fleet(deployment.mode, decode, None, settings, router, failures=failures)
        prefill = Replicas(deployment.prefill, one.prefill.table, pages(one.prefill.cache_tokens))
        reader, answerer = deployment.prefill.parallelism, deployment.decode.parallelism
        transfer = uniform_transfer(
            prefill.pool.replicas + decode.pool.replicas,
            self.way.law.start_s,
            self.way.bytes_per_s * self.way.law.efficiency * min(reader.accelerators, answerer.accelerators),
            cache_bytes_per_token(model, settings.kv_precision) * cache_copies(model, reader.tensor),
            model.layers if self.way.layerwise else 1,
        )
        return Fleet("disaggregated", decode, prefill, settings, router, transfer, failures, self.roles)

    def _failures(self, deployment: Deployment) -> tuple[Failure, ...]:
        """Return the downtimes of replicas, by their own failures and by those of servers."""
        if not self.server_failures:
            return tuple(self.failures)
        size = self.machine.system.accelerators_per_server
        try:
            placed = place(deployment, size, -(-self.machine.accelerators // size))
        except Infeasible:  # replicas are not torn apart
            placed = place(deployment, size, deployment.accelerators)
        homes = [*placed.prefill.tolist(), *placed.decode.tolist()]
        return (
            *self.failures,
            *(
                Failure(replica, one.begin_s, one.end_s)
                for one in self.server_failures
                for replica, home in enumerate(homes)
                if one.server in home
            ),
        )
