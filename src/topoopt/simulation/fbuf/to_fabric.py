"""From a FlexNet file's network to a Fabric: its own connections, routes and rings."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import ROUTING, Fabric, Path, PathArrays, Routes
from topoopt.simulation.csr import entries_of, owners, pointer
from topoopt.simulation.fbuf.graph import FlexNetGraph
from topoopt.simulation.fbuf.ring_walks import walk_ring
from topoopt.topologies import DEFAULT_LATENCY_S, Ring, Topology, topology_from_arrays


def flexnet_fabric(
    flexnet: FlexNetGraph,
    groups: Iterable[tuple[int, ...]],
    latency_s: float = DEFAULT_LATENCY_S,
    bandwidth_bps: float | None = None,
) -> Fabric:
    """Return the network that the file describes.

    A file without routes gets ECMP over shortest paths. A group gets the rings of a descriptor of its size
    that really walk around its members, starting at one of them; a group without such has none here, and then
    takes one ring in member order along the routes in every simulator.

    Parameters
    ----------
    groups : members of each AllReduce group
        As :attr:`topoopt.simulation.TaskGraph.groups` gives them.
    latency_s : float
        Of every link; the file holds none.
    bandwidth_bps : float, optional
        Of one cable, each way; by default the file's.

    Raises
    ------
    InvalidInput
        If the file has no connections or no bandwidth, or a ring steps where no cable is.
    """
    if not len(flexnet.connections):
        raise InvalidInput(
            f"{flexnet.place}: holds no connections; name a fabric to put its tasks on, e.g. ideal-switch"
        )
    bandwidth = flexnet.bandwidth_bps if bandwidth_bps is None else bandwidth_bps
    if not 0 < bandwidth < float("inf"):
        raise InvalidInput(
            f"{flexnet.place}: bandwidth of a cable must be positive, got {bandwidth:g} b/s "
            f"(netbw of the file: {flexnet.netbw:g} bytes/ms); name a bandwidth"
        )
    topology = _topology(flexnet, bandwidth, latency_s)
    routes: Routes = (
        _FileRoutes.of(flexnet, topology) if len(flexnet.routes) else ROUTING["ecmp"](topology, 0)
    )
    rings = {tuple(sorted(group)): _rings(flexnet, topology, group) for group in groups}
    name = "topoopt" if not flexnet.nswitch else topology.family
    return Fabric(name, topology, routes, {group: walks for group, walks in rings.items() if walks})


def _topology(flexnet: FlexNetGraph, bandwidth_bps: float, latency_s: float) -> Topology:
    rows = flexnet.connections
    a, b = rows.fromnode.astype(np.int64), rows.tonode.astype(np.int64)
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    cables = np.tile(rows.nconn.astype(np.int64), 2)
    topology = topology_from_arrays(
        _family(flexnet),
        flexnet.nnode,
        src,
        dst,
        cables.astype(np.float64) * bandwidth_bps,
        np.full(len(src), latency_s),
        flexnet.nodes,
    )
    ports = np.zeros(len(topology), np.int64)
    np.add.at(ports, topology.link_ids(src, dst), cables)
    return replace(topology, ports=ports.astype(np.int32))


def _family(flexnet: FlexNetGraph) -> str:
    """Return ``direct`` without switches, ``ideal-switch`` for a star around one, else ``switched``."""
    if not flexnet.nswitch:
        return "direct"
    rows = flexnet.connections
    ends = np.concatenate([rows.fromnode, rows.tonode])
    star = flexnet.nswitch == 1 and (ends >= flexnet.nnode).sum() == len(rows)
    full = len(rows) == flexnet.nnode and len(np.unique(ends)) == flexnet.nodes
    return "ideal-switch" if star and full and len(np.unique(rows.nconn)) == 1 else "switched"


@dataclass(frozen=True, eq=False)
class _FileRoutes:
    """The routes of a file; the paths of a pair share its bytes by chance.

    ``key`` are the pairs that have a path, sorted, each src·nodes + dst; ``row`` is the route of each.
    """

    flexnet: FlexNetGraph
    topology: Topology
    key: Ints
    row: Ints
    weight: NDArray[np.float64]
    method: ClassVar[str] = "explicit"

    @classmethod
    def of(cls, flexnet: FlexNetGraph, topology: Topology) -> "_FileRoutes":
        """Return the routes of a file on its topology."""
        rows = flexnet.routes
        key = rows.fromnode.astype(np.int64) * flexnet.nodes + rows.tonode
        order = np.argsort(key)
        order = order[np.diff(rows.path_first)[order] > 0]
        owner = owners(rows.path_first)
        chance = rows.chance.astype(np.float64)
        total = np.bincount(owner, chance, minlength=len(rows))
        return cls(flexnet, topology, key[order], order, chance / total[owner])

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        arrays = self.path_arrays(np.array([src]), np.array([dst]))
        ends = zip(arrays.node_first[:-1].tolist(), arrays.node_first[1:].tolist(), strict=True)
        nodes = [tuple(arrays.nodes[a:b].tolist()) for a, b in ends]
        return tuple(Path(*path) for path in zip(nodes, arrays.weight.tolist(), strict=True))

    def path_arrays(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
        """Return the paths of many pairs."""
        rows, away = self.flexnet.routes, src != dst
        row = self._rows(src[away], dst[away])
        count = np.zeros(len(src), np.int64)
        count[away] = np.diff(rows.path_first)[row]
        path, _ = entries_of(rows.path_first, row)
        return PathArrays(
            pointer(count),
            pointer(np.diff(rows.hop_first)[path]),
            rows.hopnode[entries_of(rows.hop_first, path)[0]].astype(np.int32),
            self.weight[path],
        )

    def _rows(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> Ints:
        key = src * self.flexnet.nodes + dst
        place = np.minimum(np.searchsorted(self.key, key), max(len(self.key) - 1, 0))
        missing = self.key[place] != key if len(self.key) else np.ones(len(key), bool)
        if missing.any():
            pair = f"{src[np.argmax(missing)]}->{dst[np.argmax(missing)]}"
            raise NoRoute(f"{self.flexnet.place}: no route {pair}; add one, or name a fabric to run on")
        return self.row[place]


def _rings(flexnet: FlexNetGraph, topology: Topology, group: tuple[int, ...]) -> tuple[Ring, ...]:
    fitting = [ring for ring in flexnet.rings if ring.ringsz == len(group)]
    walked = [walk_ring(flexnet.nnode, jumps, group) for ring in fitting for jumps in ring.ringpaths]
    rings = tuple(ring for ring in walked if ring is not None)
    for ring in rings:
        src, dst = ring.edges()
        missing = topology.link_ids(src, dst) < 0
        if missing.any():
            step = f"{src[np.argmax(missing)]}->{dst[np.argmax(missing)]}"
            raise InvalidInput(
                f"{flexnet.place}: the ring of {len(group)} servers from {group[0]} steps {step}, where the file "
                "has no connection; add it, or name a fabric to run on"
            )
    return rings
