"""Placement of replicas on accelerators, and the pairing of prefill with decode replicas for a direct wiring.

The pairing is mutable, like the order of a ring. A router may send anywhere (round robin, least loaded); a router
aware of the network sends where links are free; and where a prefill server is wired to some decode servers it may
send to these alone, one hop away, from a smaller pool.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible
from topoopt.inference.deployment import Deployment, Pool
from topoopt.routing import Fabric, PairLinks, Routes, all_pair_links
from topoopt.topologies import Topology
from topoopt.workloads import AllReduceGroup


@dataclass(frozen=True, eq=False, slots=True)
class Placement:
    """The server of every accelerator of every replica.

    Inside a replica the ranks of tensor parallelism are numbered fastest, then the copies of attention, then stages.

    Attributes
    ----------
    servers : int
        Servers used: 0 .. servers-1.
    prefill, decode : int64 arrays, shape (replicas, accelerators of a replica)
        The first has no rows where one pool does both.
    """

    servers: int
    prefill: Ints
    decode: Ints


@dataclass(frozen=True, eq=False)
class LaidRoutes:
    """Routes of all pairs of servers over the links of a topology.

    Attributes
    ----------
    rows : PairLinks
        Row ``src * servers + dst`` holds the pair (src, dst).
    """

    topology: Topology
    rows: PairLinks

    @cached_property
    def link_s_per_byte(self) -> Floats:
        """Seconds of each link for a byte, shape (links,)."""
        return 8.0 / self.topology.bandwidth_bps

    @cached_property
    def pair_s_per_byte(self) -> Floats:
        """Seconds of the fullest link for a byte of each pair that has the network alone, shape (servers, servers)."""
        return self._most(self.link_s_per_byte[self.rows.link] * self.rows.share)

    @cached_property
    def hops(self) -> Floats:
        """Mean links of a byte of each pair; through a switch two links are one hop. Shape (servers, servers)."""
        links = self.rows.mean_hops().reshape(self._square)
        if self.topology.nodes == self.topology.servers:
            return links
        return np.asarray(np.minimum(links, 1.0))

    @cached_property
    def latency_s(self) -> Floats:
        """Latency of the links that a byte of each pair crosses, shape (servers, servers)."""
        owner = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.pair_first))
        crossing = self.topology.latency_s[self.rows.link] * self.rows.share
        total = np.bincount(owner, crossing, minlength=len(self.rows))
        return np.asarray(total.reshape(self._square), np.float64)

    def loads(self, pair_bytes: Floats) -> Floats:
        """Return the bytes on each link, shape (links,)."""
        return self.rows.loads(pair_bytes.ravel(), len(self.topology))

    @property
    def _square(self) -> tuple[int, int]:
        return self.topology.servers, self.topology.servers

    def _most(self, values: Floats) -> Floats:
        """Return the largest of the values of each pair's links, 0 of a server with itself."""
        first = self.rows.pair_first
        used = np.flatnonzero(np.diff(first))
        most = np.zeros(len(self.rows))
        if len(used):
            most[used] = np.maximum.reduceat(values, first[used])
        return most.reshape(self._square)


_SMALLEST = 1e-9
_SECOND = 1e-4
_ROUNDS = 200
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False, slots=True)
class Pairing:
    """Assignment of prefill replicas to decode replicas.

    Attributes
    ----------
    name : str
        A name in :data:`PAIRINGS`.
    shares : float64 array, shape (prefill replicas, decode replicas)
        Shares of all requests; the sum is 1, all rows have equal sums, and so have all columns.
    """

    name: str
    shares: Floats

    @property
    def choices(self) -> float:
        """Decode replicas that a prefill replica sends to, on average."""
        return float((self.shares > _SMALLEST).sum(axis=1).mean()) if self.shares.size else 0.0


@dataclass(frozen=True, eq=False, slots=True)
class PairingCase:
    """Inputs for choosing a pairing.

    Attributes
    ----------
    laid : LaidRoutes
    busy : float64 array, shape (links,)
        Load of each link by everything else, per request per second.
    kv_bytes : float
        KV-cache bytes per request.
    """

    placement: Placement
    laid: LaidRoutes
    busy: Floats
    kv_bytes: float


def anywhere(case: PairingCase) -> Floats | None:
    """Return equal shares of all pairs: round robin, or least loaded."""
    shape = len(case.placement.prefill), len(case.placement.decode)
    return np.full(shape, 1.0 / (shape[0] * shape[1]))


def by_network(case: PairingCase) -> Floats | None:
    """Return the shares that leave the busiest link least busy, every replica with as much as the others.

    A linear program over pairs; among equally good solutions the one whose pairs have the most bandwidth of their own.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import

    sources, ends = _sides(case)
    count = len(sources) * len(ends)
    rows = _pair_loads(case, sources, ends)
    scale = max(float(rows.max()), float(case.busy.max(initial=0.0)), 1e-300)
    links = len(case.busy)
    slow = _slowness(case, sources, ends).ravel()
    cost = np.concatenate((slow * (_SECOND / max(float(slow.max()), 1e-300)), [1.0]))
    limits = np.hstack((rows.T / scale, -np.ones((links, 1))))
    p, d = np.divmod(np.arange(count), len(ends))
    index = np.concatenate((p, len(sources) + d))
    whole: Any = coo_array(
        (np.ones(2 * count), (index, np.tile(np.arange(count), 2))),
        shape=(len(sources) + len(ends), count + 1),
    )
    totals = np.concatenate((np.full(len(sources), 1 / len(sources)), np.full(len(ends), 1 / len(ends))))
    found = linprog(cost, limits, -case.busy / scale, whole.tocsr(), totals, method="highs")
    if found.status != 0 or found.x is None:  # never seen: equal shares always fit
        return None
    return np.maximum(np.asarray(found.x[:count], np.float64), 0.0).reshape(len(sources), len(ends))


def to_neighbors(case: PairingCase) -> Floats | None:
    """Return shares of pairs whose servers have a link of their own, every replica with as much as the others.

    None where some replica has no neighbor, or no shares make all equally loaded.
    """
    sources, ends = _sides(case)
    reach = (case.laid.hops <= 1 + _CLOSE).astype(np.float64)
    near = (sources > 0) @ (1 - reach) @ (
        ends > 0
    ).T < 0.5  # every server of one from every server of the other
    ports = np.where(near, 1 / np.maximum(_slowness(case, sources, ends), 1e-300), 0.0)
    ports = ports / max(ports.max(), 1e-300) if ports.max() < 1e200 else near.astype(np.float64)
    if not (ports.sum(axis=1).all() and ports.sum(axis=0).all()):
        return None
    shares = ports
    for _ in range(_ROUNDS):  # Sinkhorn's: rows and columns in turn
        shares = shares / shares.sum(axis=1, keepdims=True) / len(sources)
        shares = shares / shares.sum(axis=0, keepdims=True) / len(ends)
    even = np.abs(shares.sum(axis=1) * len(sources) - 1).max() < 0.05
    return shares if even else None


PAIRINGS: Mapping[str, Callable[[PairingCase], Floats | None]] = {
    "any": anywhere,
    "network-aware": by_network,
    "neighbors": to_neighbors,
}
"""Pairings by name: each returns the share of requests per pair, or None where it does not apply."""


def pairings(case: PairingCase, names: tuple[str, ...]) -> list[Pairing]:
    """Return the pairings of these names, without duplicates."""
    if not len(case.placement.prefill):
        return [Pairing("any", np.zeros((0, len(case.placement.decode))))]
    found: list[Pairing] = []
    for name in names:
        shares = PAIRINGS[name](case)
        if shares is not None and not any(np.allclose(shares, one.shares, atol=1e-6) for one in found):
            found.append(Pairing(name, shares))
    return found


def _sides(case: PairingCase) -> tuple[Floats, Floats]:
    servers = case.laid.topology.servers
    return on_servers(case.placement.prefill, servers), on_servers(case.placement.decode, servers)


def _slowness(case: PairingCase, sources: Floats, ends: Floats) -> Floats:
    return np.asarray(sources @ case.laid.pair_s_per_byte @ ends.T)


def _pair_loads(case: PairingCase, sources: Floats, ends: Floats) -> Floats:
    """Return the load of each link if all requests used one pair, shape (pairs, links)."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import

    rows, links = case.laid.rows, len(case.busy)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.pair_first))
    by_pair = coo_array((rows.share, (owner, rows.link)), shape=(len(rows), links)).tocsr()
    weights = np.einsum("pu,dv->pduv", sources, ends).reshape(len(sources) * len(ends), -1)
    return np.asarray((by_pair.T @ weights.T).T * case.kv_bytes * case.laid.link_s_per_byte)


def laid_routes(topology: Topology, routes: Routes) -> LaidRoutes:
    """Return the links of all pairs."""
    return LaidRoutes(topology, all_pair_links(topology, routes))


def ring_loads(fabric: Fabric, reduces: tuple[AllReduceGroup, ...]) -> Floats:
    """Return the bytes that AllReduces along the fabric's rings put on each link, shape (links,)."""
    load = np.zeros(len(fabric.topology))
    for group in reduces:
        rings = fabric.rings[group.members]
        share = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            np.add.at(load, fabric.topology.link_ids(*ring.edges()), share)
    return load


def place(deployment: Deployment, accelerators_per_server: int, servers: int) -> Placement:
    """Return the placement, prefill first; decode on separate servers where there are enough.

    A replica that fits into a server never lies on two; one that does not begins on a server of its own, so that its
    groups lie on as few servers as they can.

    Raises
    ------
    Infeasible
        If there are too few servers.
    """
    prefill = _laid(deployment.prefill, accelerators_per_server, 0)
    first = 0 if prefill is None else _end(prefill)
    whole = -(-first // accelerators_per_server) * accelerators_per_server
    room = servers * accelerators_per_server
    decode = _laid(deployment.decode, accelerators_per_server, whole)
    assert decode is not None
    if _end(decode) > room:
        decode = _laid(deployment.decode, accelerators_per_server, first)
        assert decode is not None
    needed = -(-_end(decode) // accelerators_per_server)
    if needed > servers:
        raise Infeasible(
            f"servers: {deployment.accelerators} accelerators of {accelerators_per_server} a server lie on {needed} "
            f"servers, as replicas are not torn apart; got {servers}"
        )
    none = np.zeros((0, 1), np.int64)
    return Placement(
        needed,
        none if prefill is None else prefill // accelerators_per_server,
        decode // accelerators_per_server,
    )


def on_servers(ranks: Ints, servers: int) -> Floats:
    """Return the share of each replica on each server, shape (replicas, servers).

    Parameters
    ----------
    ranks : int64 array, shape (replicas, accelerators of a replica)
        Servers.
    """
    shares = np.zeros((len(ranks), servers))
    np.add.at(shares, (np.arange(len(ranks))[:, None], ranks), 1.0 / max(ranks.shape[1], 1))
    return shares


def _laid(pool: Pool | None, per_server: int, first: int) -> Ints | None:
    if pool is None:
        return None
    size = pool.parallelism.accelerators
    if size >= per_server:
        each = -(-size // per_server) * per_server
        start = -(-first // per_server) * per_server
        starts = start + each * np.arange(pool.replicas)
    else:
        fit = per_server // size
        done = -(-(first % per_server) // size)  # places of the server that has been begun
        place = done + np.arange(pool.replicas)
        starts = (first // per_server + place // fit) * per_server + place % fit * size
    return np.asarray(starts[:, None] + np.arange(size), np.int64)


def _end(accelerators: Ints) -> int:
    return int(accelerators.max()) + 1
