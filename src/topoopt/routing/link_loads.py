"""Bytes on each link for given demands, whatever made the routes."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.fabric import Fabric
from topoopt.routing.hash_conflicts import Conflicts
from topoopt.routing.pair_links import (
    LinkRows,
    PairLinks,
    TurnedRoutes,
    joined_pairs,
    links_of_paths,
    own_rows,
)
from topoopt.routing.routes import Routes, path_arrays
from topoopt.schema.files import write_atomically, write_csv
from topoopt.topologies import Topology
from topoopt.workloads import Traffic

# Pairs whose links are held at once: a few hundred megabytes at most.
_PAIRS_AT_ONCE = 1 << 18


def pair_links(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> PairLinks:
    """Return the links of ``topology`` that each ordered pair uses, with shares.

    Coin-change and ECMP routes know it without listing paths, rotated ones from few of them.

    Parameters
    ----------
    src, dst : int arrays, shape (pairs,)

    Raises
    ------
    NoRoute
        If a pair cannot be reached, or a route uses a link that ``topology`` does not have.
    """
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    if isinstance(routes, EcmpRoutes) and routes.topology is topology:
        return routes.pair_links(src, dst)
    if isinstance(routes, CoinChangeRoutes | TurnedRoutes) and routes.topology is topology:
        return routes.link_rows(src, dst).laid_out()
    return links_of_paths(topology, path_arrays(routes, src, dst))


def link_rows(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> LinkRows:
    """Return the same by rows that pairs have in common, where links that a turn leads to each other are alike.

    Raises
    ------
    NoRoute
        As :func:`pair_links`.
    """
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    turned = routes if isinstance(routes, CoinChangeRoutes | TurnedRoutes) else None
    if turned is not None and turned.topology is topology and turned.links_alike:
        return turned.link_rows(src, dst)
    if len(src) <= _PAIRS_AT_ONCE or isinstance(routes, CoinChangeRoutes | EcmpRoutes):
        return own_rows(pair_links(topology, routes, src, dst), len(topology))
    # Paths are found along trees to destinations: pairs with the same one stand together, a few trees at a time.
    order = np.argsort(dst, kind="stable")
    blocks = (order[start : start + _PAIRS_AT_ONCE] for start in range(0, len(order), _PAIRS_AT_ONCE))
    rows = joined_pairs([links_of_paths(topology, path_arrays(routes, src[one], dst[one])) for one in blocks])
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return replace(own_rows(rows, len(topology)), row=place)


def all_pair_links(topology: Topology, routes: Routes) -> PairLinks:
    """Return the links of every ordered pair of servers; the row of (src, dst) is ``src * servers + dst``.

    Meant for up to about a thousand servers: the answer has servers² · hops entries.
    """
    server = np.arange(topology.servers)
    return pair_links(
        topology, routes, np.repeat(server, topology.servers), np.tile(server, topology.servers)
    )


def link_loads(topology: Topology, routes: Routes, demand: Floats) -> Floats:
    """Return the bytes on each link, shape (links,), for a demand matrix (servers, servers) in bytes.

    The diagonal is ignored. Coin-change routes take O(n²) vector steps and hold no pair; others are
    worked through in blocks of pairs that share destinations.

    Raises
    ------
    InvalidInput
        If the demand is not of shape (servers, servers).
    NoRoute
        If a pair with demand cannot be reached.
    """
    n = topology.servers
    if demand.shape != (n, n):
        raise InvalidInput(f"demand: expected {n}×{n} for {n} servers, got {demand.shape}")
    if isinstance(routes, CoinChangeRoutes) and routes.topology is topology:
        return routes.link_bytes(demand)
    dst, src = np.nonzero(demand.T)
    src, dst = src[src != dst], dst[src != dst]
    load = np.zeros(len(topology))
    for start in range(0, len(src), _PAIRS_AT_ONCE):
        a, b = src[start : start + _PAIRS_AT_ONCE], dst[start : start + _PAIRS_AT_ONCE]
        load += pair_links(topology, routes, a, b).loads(demand[a, b], len(topology))
    return load


@shows_itself
@dataclass(frozen=True, slots=True, eq=False)
class LaidTraffic:
    """Traffic of one iteration laid on a fabric.

    Attributes
    ----------
    model, strategy : str
        Names or descriptions.
    mp_bytes, allreduce_bytes : float64 arrays, shape (servers, servers)
        Bytes between servers: transfers, and AllReduces along their rings.
    link_bytes : float64 array, shape (links,)
        Bytes of both on each link, relayed bytes included.
    conflicts : Conflicts, optional
        Conflicts of its connections on a network of switches, if asked for.
    """

    model: str
    strategy: str
    traffic: Traffic
    fabric: Fabric
    mp_bytes: Floats
    allreduce_bytes: Floats
    link_bytes: Floats
    conflicts: Conflicts | None = None

    def pairs(self) -> list[dict[str, Any]]:
        """Return every ordered pair of servers that exchanges bytes."""
        src, dst = np.nonzero(self.mp_bytes + self.allreduce_bytes)
        columns = src, dst, self.allreduce_bytes[src, dst], self.mp_bytes[src, dst]
        names = "src", "dst", "allreduce_bytes", "mp_bytes"
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def links(self) -> list[dict[str, Any]]:
        """Return every link and its load."""
        return [
            {"src": link.src, "dst": link.dst, "bandwidth_bps": link.bandwidth_bps, "bytes": size}
            for link, size in zip(self.fabric.topology, self.link_bytes.tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        demand = self.traffic
        return {
            "model": self.model,
            "servers": demand.servers,
            "strategy": self.strategy,
            **fields_of(demand, "allreduce_bytes", "allreduce_wire_bytes", "mp_bytes"),
            "allreduce_groups": [
                {"members": list(group.members), "bytes": group.size_bytes} for group in demand.allreduce
            ],
            "link_bytes_max": float(self.link_bytes.max(initial=0.0)),
            "pairs": self.pairs(),
            "links": self.links(),
            "conflicts": None if self.conflicts is None else self.conflicts.to_json(),
        }

    def to_frame(self) -> Frame:
        """Return a row for each pair of servers, as pandas has it."""
        return frame(self.pairs())

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write every pair and every link.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        rows: list[tuple[Any, ...]] = []
        for row in self.pairs():
            sizes = (row["allreduce_bytes"], row["mp_bytes"])
            rows.append(("pair", row["src"], row["dst"], *sizes, sum(sizes)))
        rows += [("link", row["src"], row["dst"], "", "", row["bytes"]) for row in self.links()]
        write_csv(path, ("kind", "src", "dst", "allreduce_bytes", "mp_bytes", "bytes"), rows)

    def write_matrix(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes of all pairs as a square CSV, which is a job's traffic where it is read again.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        rows = (self.mp_bytes + self.allreduce_bytes).round().astype("int64").tolist()
        write_atomically(os.fspath(path), "".join(",".join(map(str, row)) + "\n" for row in rows))


def lay_traffic(model: str, strategy: str, demand: Traffic, fabric: Fabric) -> LaidTraffic:
    """Lay a demand on a fabric: transfers on routes, AllReduce on the walks of its rings."""
    mp_bytes = demand.mp_matrix()
    logical = np.zeros_like(mp_bytes)
    on_links = link_loads(fabric.topology, fabric.routes, mp_bytes)
    for group in demand.allreduce:
        rings = fabric.rings[group.members]
        share = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            members = np.asarray(ring.members)
            np.add.at(logical, (members, np.roll(members, -1)), share)
            np.add.at(on_links, fabric.topology.link_ids(*ring.edges()), share)
    return LaidTraffic(model, strategy, demand, fabric, mp_bytes, logical, on_links)
