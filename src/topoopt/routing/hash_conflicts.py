"""ECMP conflicts: connections that a hash puts on the same link, as balls that fall into the same bin.

A switch hashes each connection to one of the equal paths, for as long as it lasts. Where two fall on one link, both
take longer, and with them the step that waits for the slower one. More connections per pair even that out.

References
----------
.. [1] Y. Raab, A. Steger, "'Balls into bins' – a simple and tight analysis", RANDOM 1998.
.. [2] K. Qian et al., "Alibaba HPN", SIGCOMM 2024, section 2: few large flows, and hash polarization.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing.coin_change import ranges
from topoopt.routing.fabric import Fabric
from topoopt.routing.routes import connection_uniform, path_arrays
from topoopt.workloads import Traffic

CONNECTIONS = (1, 2, 4, 8)
"""Connections per pair of servers and NIC: NCCL opens one, NCCL_IB_QPS_PER_CONNECTION more."""
DRAWS = 200
"""Hashes that are drawn."""


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """Load of the fullest link over its load if traffic was split equally, by how connections choose their paths.

    Attributes
    ----------
    paths : str
        ``hashed``, ``chosen`` (each connection, the largest first, takes the path that is least full), or ``sprayed``.
    connections : int
        Connections per pair of servers and NIC.
    mean, p99 : float
        Over the draws of the hash.
    """

    paths: str
    connections: int
    mean: float
    p99: float


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Conflicts of the connections of a job on a fabric.

    Attributes
    ----------
    fabric : str
    pairs : int
        Ordered pairs of servers that exchange bytes.
    busiest_s : float
        Time of the fullest link in an iteration, if traffic was split equally over all shortest paths.
    rows : tuple of ConflictRow
    """

    fabric: str
    pairs: int
    busiest_s: float
    draws: int
    rows: tuple[ConflictRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the conflicts as a mapping."""
        return asdict(self)


def expected_fullest_bin(balls: int, bins: int) -> float:
    """Return the expected number of balls in the fullest bin, each ball thrown at random.

    By the numbers of throws without a bin of more than k balls: coefficients of powers of truncated exponential series,
    scaled by Poisson weights so that none overflows.

    Examples
    --------
    >>> round(expected_fullest_bin(32, 32), 2), round(expected_fullest_bin(64, 32) / 2, 2)
    (3.53, 2.71)
    """
    if not balls:
        return 0.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, balls + 1)))])
    count = np.arange(balls + 1)

    def poisson(mean: float) -> Floats:
        weights: Floats = np.exp(count * np.log(mean) - mean - logs)
        return weights

    single, whole, expected = poisson(balls / bins), float(poisson(float(balls))[balls]), 0.0
    for most in range(balls):
        at_most = np.where(count <= most, single, 0.0)
        below = float(_power(at_most, bins)[balls]) / whole
        expected += 1.0 - min(below, 1.0)
        if below > 1.0 - 1e-13:
            break
    return expected


def _power(series: Floats, exponent: int) -> Floats:
    """Return a power of a polynomial, cut at its length."""
    result = np.zeros_like(series)
    result[0] = 1.0
    while exponent:
        if exponent & 1:
            result = np.convolve(result, series)[: len(series)]
        series = np.convolve(series, series)[: len(series)]
        exponent >>= 1
    return result


def no_conflict_share(balls: int, bins: int) -> float:
    """Return the probability that no two balls share a bin.

    Examples
    --------
    >>> round(no_conflict_share(8, 32), 4)
    0.3857
    """
    return float(np.prod(1.0 - np.arange(balls) / bins)) if balls <= bins else 0.0


def conflicts_on(demand: Traffic, fabric: Fabric, draws: int = DRAWS, seed: int = 0) -> Conflicts:
    """Return how much fuller the fullest link becomes where connections are hashed to the shortest paths.

    Parameters
    ----------
    demand : Traffic
        Transfers, and AllReduces along rings in the order of their members.
    fabric : Fabric
        Every switch a node of its own, with equal-cost routes.
    draws : int
        Hashes that are drawn.
    """
    size_bytes = demand.mp_matrix()
    for group in demand.allreduce:
        members = np.asarray(group.members, np.int64)
        np.add.at(size_bytes, (members, np.roll(members, -1)), group.wire_bytes / len(members))
    np.fill_diagonal(size_bytes, 0.0)
    src, dst = np.nonzero(size_bytes)
    lanes = _Lanes(fabric, src, dst)
    spread = lanes.seconds(np.repeat(size_bytes[src, dst], lanes.paths) * lanes.weight)
    busiest_s = float(spread.max(initial=0.0))
    if not busiest_s:
        return Conflicts(fabric.name, len(src), 0.0, draws, ())
    rows = []
    for connections in CONNECTIONS:
        of_each = np.repeat(
            size_bytes[src, dst] / (lanes.nics[src] * connections), lanes.nics[src] * connections
        )
        found = np.array([lanes.hashed(of_each, connections, seed + draw).max() for draw in range(draws)])
        over = found / busiest_s
        rows.append(ConflictRow("hashed", connections, float(over.mean()), float(np.quantile(over, 0.99))))
    of_each = np.repeat(size_bytes[src, dst] / lanes.nics[src], lanes.nics[src])
    chosen = float(lanes.chosen(of_each).max()) / busiest_s
    rows += [ConflictRow("chosen", 1, chosen, chosen), ConflictRow("sprayed", 1, 1.0, 1.0)]
    return Conflicts(fabric.name, len(src), busiest_s, draws, tuple(rows))


class _Lanes:
    """Paths of all pairs, by the NIC that they leave by: a connection of NIC i takes one of these.

    Attributes
    ----------
    paths : int64 array, shape (pairs,)
        Paths of each pair.
    nics : int64 array, shape (servers,)
    """

    def __init__(self, fabric: Fabric, src: Ints, dst: Ints) -> None:
        topology = fabric.topology
        found = path_arrays(fabric.routes, src, dst)
        self.paths, self.weight = np.diff(found.path_first), found.weight
        self.nics = np.diff(topology.first_link)[: topology.servers]
        self._src, ports = src, topology.ports.astype(np.int64)
        self._ports, self._port_first = ports, np.concatenate([[0], np.cumsum(ports)])
        self._bytes_per_s = topology.bandwidth_bps / 8.0
        self._port_bytes_per_s = np.repeat(self._bytes_per_s / ports, ports)
        hops = np.diff(found.node_first) - 1
        at = ranges(found.node_first[:-1], found.node_first[1:] - 1)
        self._link = topology.link_ids(found.nodes[at], found.nodes[at + 1])
        self._link_first = np.concatenate([[0], np.cumsum(hops)])
        # paths in the order of (pair, first link): those of a NIC stand together
        pair = np.repeat(np.arange(len(src)), self.paths)
        nic = self._link[self._link_first[:-1]] - topology.first_link[src[pair]]
        self._order = np.lexsort((nic, pair))
        lane = np.cumsum(self.nics[src])[pair] - self.nics[src[pair]] + nic
        self._lane_first = np.searchsorted(lane[self._order], np.arange(self.nics[src].sum() + 1))

    def seconds(self, of_path: Floats) -> Floats:
        """Return the time of each link for the bytes of each path."""
        loads = np.bincount(
            self._link, np.repeat(of_path, np.diff(self._link_first)), minlength=len(self._bytes_per_s)
        )
        seconds: Floats = loads / self._bytes_per_s
        return seconds

    def hashed(self, of_each: Floats, connections: int, seed: int) -> Floats:
        """Return the time of each cable where a connection takes a random path of its NIC, and a cable of each link."""
        path = self._drawn(connections, seed)
        links = ranges(self._link_first[path], self._link_first[path + 1])
        connection = np.repeat(np.arange(len(path)), np.diff(self._link_first)[path])
        link = self._link[links]
        draw = connection_uniform(seed + 1, connection * len(self._bytes_per_s) + link)
        cable = self._port_first[link] + (draw * self._ports[link]).astype(np.int64)
        loads = np.bincount(cable, of_each[connection], minlength=len(self._port_bytes_per_s))
        seconds: Floats = loads / self._port_bytes_per_s
        return seconds

    def _drawn(self, connections: int, seed: int) -> Ints:
        lanes = len(self._lane_first) - 1
        lane, number = np.repeat(np.arange(lanes), connections), np.arange(lanes * connections)
        size = np.diff(self._lane_first)
        draw = connection_uniform(seed, number)
        if (size == 0).any():  # no shortest path leaves by this NIC: any of the pair's
            first, of_pair = (
                np.concatenate([[0], np.cumsum(self.paths)]),
                np.repeat(np.arange(len(self.paths)), self.nics[self._src]),
            )
            begin = np.where(size == 0, first[of_pair], self._lane_first[:-1])
            size = np.where(size == 0, self.paths[of_pair], size)
        else:
            begin = self._lane_first[:-1]
        place: Ints = self._order[begin[lane] + (draw * size[lane]).astype(np.int64)]
        return place

    def chosen(self, of_each: Floats) -> Floats:
        """Return the time of each cable where each connection in turn, the largest first, takes the emptiest path."""
        seconds = np.zeros(len(self._port_bytes_per_s))
        first = np.concatenate([[0], np.cumsum(self.paths)])
        of_pair = np.repeat(np.arange(len(self.paths)), self.nics[self._src])
        for lane in np.argsort(-of_each, kind="stable").tolist():
            begin, end = self._lane_first[lane], self._lane_first[lane + 1]
            if begin == end:
                begin, end = first[of_pair[lane]], first[of_pair[lane] + 1]
            ways = [self._emptiest(seconds, path) for path in self._order[begin:end].tolist()]
            after = [seconds[cables] + of_each[lane] / self._port_bytes_per_s[cables] for cables in ways]
            totals = [(float(one.max()), float(one.sum())) for one in after]
            best = totals.index(min(totals))
            seconds[ways[best]] = after[best]
        return seconds

    def _emptiest(self, seconds: Floats, path: int) -> Ints:
        """Return the emptiest of the parallel cables of each link of a path."""
        links = self._link[self._link_first[path] : self._link_first[path + 1]]
        rows = [range(self._port_first[link], self._port_first[link + 1]) for link in links.tolist()]
        return np.array([min(row, key=seconds.__getitem__) for row in rows], np.int64)
