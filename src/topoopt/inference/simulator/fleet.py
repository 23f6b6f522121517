"""Fleet: the simulator's view of a deployment by replica: step times, pages, transfers, routers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.inference.deployment import MODES, EngineSettings, Pool
from topoopt.inference.step_table import StepTable

ROUTERS = ("round-robin", "least-loaded", "prefix-aware", "network-aware")
"""Routing policies: the next replica; the one with the fewest tokens in its caches and its queue; the one with the
fewest tokens to prefill, less the cached part of the prompt; and among decode replicas with room, the one that
gets the cache first."""


SHORTEST_LOOK_S = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """The replicas of a pool.

    Attributes
    ----------
    pool : Pool
        Number of replicas, and limits of a step.
    table : StepTable
    pages : int
        Pages of keys and values that a replica has room for.
    """

    pool: Pool
    table: StepTable
    pages: int


@dataclass(frozen=True, slots=True, eq=False)
class TransferRoutes:
    """The links of a fabric that caches cross, which transfers share max-min fairly.

    Attributes
    ----------
    pair_first : array (replicas * replicas + 1,) of int
        Start of each pair's links, by ``source * replicas + end``.
    link : array (entries,) of int
    share : array (entries,) of float
        Bytes on that link for a byte of the cache.
    capacity_bytes_per_s : array (links,) of float
    """

    pair_first: Ints
    link: Ints
    share: Floats
    capacity_bytes_per_s: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """Transfer of KV caches from prefill to decode replicas.

    Attributes
    ----------
    setup_s, bytes_per_s : array (replicas, replicas) of float
        Setup time and bandwidth of each ordered pair, prefill replicas before decode replicas; the bandwidth is
        without contention.
    cache_bytes_per_token : float
        Cache size per token, all layers.
    layers : int
        Layers sent one by one during prefill; 1 where the whole cache is sent after it.
    routes : TransferRoutes or None
        Without any, the network is an ideal switch, at whose ends one transfer goes after the other.
    allowed : array (replicas, replicas) of bool, or None
        Replicas to which each may send while any of them is up; all by default.
    """

    setup_s: Floats
    bytes_per_s: Floats
    cache_bytes_per_token: float
    layers: int = 1
    routes: TransferRoutes | None = None
    allowed: Flags | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A replica that is down for a while: its caches are lost, and its requests are prefilled again elsewhere."""

    replica: int
    begin_s: float
    end_s: float = float("inf")


@dataclass(frozen=True, slots=True)
class Outage:
    """Links of a fabric that carry nothing for a while, such as those of a server; transfers on them wait."""

    links: tuple[int, ...]
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class RoleRule:
    """Conditions under which a replica changes to the other pool, after finishing its work, one replica after the
    other.

    Attributes
    ----------
    every_s : float
        Interval at which the pools are checked.
    turn_s : float
        Seconds that a replica without requests takes to change.
    unread_tokens : float
        Tokens that wait for prefill, per prefill replica, above which one is added.
    full, empty : float
        Share of used pages of decode replicas above which one is added, and below which one may leave.
    """

    every_s: float
    turn_s: float
    unread_tokens: float
    full: float = 0.8
    empty: float = 0.4

    def __post_init__(self) -> None:
        if not (self.every_s >= SHORTEST_LOOK_S and self.turn_s >= 0 and self.unread_tokens >= 0):
            raise InvalidInput(f"autoscale: expected a look every {SHORTEST_LOOK_S:g} s or more seldom")
        if not 0 <= self.empty <= self.full:
            raise InvalidInput(
                f"autoscale: expected shares empty <= full, got {self.empty:g} and {self.full:g}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """Replicas by number: the prefill pool's, if there is one, before the decode pool's.

    Attributes
    ----------
    mode : str
        One of :data:`~topoopt.inference.MODES`.
    decode : Replicas
    prefill : Replicas or None
    settings : EngineSettings
        Engine settings; pages, prefixes and speculation are used here.
    router : str
        One of :data:`ROUTERS`.
    transfer : Transfer or None
        Transfers between two pools.
    failures : sequence of Failure
    roles : RoleRule or None
        Role changes between two pools.
    outages : sequence of Outage
        Outages of the links used by transfers.
    """

    mode: str
    decode: Replicas
    prefill: Replicas | None = None
    settings: EngineSettings = field(default_factory=EngineSettings)
    router: str = "least-loaded"
    transfer: Transfer | None = None
    failures: Sequence[Failure] = ()
    roles: RoleRule | None = None
    outages: Sequence[Outage] = ()

    def __post_init__(self) -> None:
        check_known("mode", self.mode, MODES)
        check_known("router", self.router, ROUTERS)
        apart = self.mode == "disaggregated"
        if apart != (self.prefill is not None) or apart != (self.transfer is not None):
            raise InvalidInput(f"mode {self.mode}: a prefill pool and transfers are for disaggregated alone")
        if self.roles is not None and not apart:
            raise InvalidInput(f"mode {self.mode}: replicas change pools where there are two")
        links = self.links
        for outage in self.outages:
            if not 0 <= outage.begin_s < outage.end_s or not all(0 <= one < links for one in outage.links):
                raise InvalidInput(f"outage: expected links of 0 to {links - 1} and a begin before its end")
        for failure in self.failures:
            if not 0 <= failure.replica < self.replicas or not 0 <= failure.begin_s < failure.end_s:
                raise InvalidInput(
                    f"failure of replica {failure.replica}: expected one of 0 to {self.replicas - 1}, that begins "
                    f"before it ends, got {failure.begin_s:g} to {failure.end_s:g} s"
                )

    @property
    def replicas(self) -> int:
        """Replicas of both pools."""
        return self.decode.pool.replicas + (self.prefill.pool.replicas if self.prefill else 0)

    @property
    def links(self) -> int:
        """Links that transfers cross, as far as they are known."""
        routes = self.transfer.routes if self.transfer else None
        return 0 if routes is None else len(routes.capacity_bytes_per_s)

    @property
    def pools(self) -> tuple[Replicas, Replicas]:
        """Prefill and decode pool; in modes of one pool, that one twice."""
        return self.prefill or self.decode, self.decode

    def check_fits(self, most_tokens: int) -> None:
        """Refuse requests that exceed a replica's capacity.

        Raises
        ------
        InvalidInput
            With the most tokens that a request may have.
        """
        room = min(kind.pages for kind in self.pools) * self.settings.page_tokens
        if most_tokens > room:
            raise InvalidInput(
                f"requests: one has {most_tokens:,} tokens with its answer, but a replica's memory holds {room:,} of "
                "them; use more accelerators a replica, or shorter requests"
            )


def uniform_transfer(
    replicas: int, setup_s: float, bytes_per_s: float, cache_bytes_per_token: float, layers: int = 1
) -> Transfer:
    """Return transfers that are alike between all replicas."""
    if not (setup_s >= 0 and bytes_per_s > 0):
        raise InvalidInput(f"transfer: expected {setup_s:g} s >= 0 and {bytes_per_s:g} bytes/s > 0")
    shape = (replicas, replicas)
    return Transfer(np.full(shape, setup_s), np.full(shape, bytes_per_s), cache_bytes_per_token, layers)
