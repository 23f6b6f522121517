"""How far apart servers are: diameter, average hops and the histogram of hops."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.errors import NoRoute
from topoopt.topologies.breadth_first import hops_from
from topoopt.topologies.topology import Topology

_ALIKE_FROM_EVERY_SERVER = frozenset({"full-mesh", "ideal-switch", "torus"})
_ROWS_AT_ONCE = 1 << 23  # entries of a block of hop rows: 32 MB


@dataclass(frozen=True, slots=True)
class HopMetrics:
    """Hops between servers.

    Attributes
    ----------
    diameter : int
        Hops of the farthest pair.
    average_hops : float
        Mean over all ordered pairs of distinct servers.
    histogram : tuple of int
        ``histogram[h]`` is the number of ordered pairs ``h`` hops apart; entry 0 is 0.
    """

    diameter: int
    average_hops: float
    histogram: tuple[int, ...]

    def cumulative(self) -> tuple[float, ...]:
        """Return the share of the pairs at most 1, 2, … diameter hops apart."""
        pairs = np.cumsum(self.histogram[1:])
        return tuple((pairs / pairs[-1]).tolist())


def hop_metrics(topology: Topology) -> HopMetrics:
    """Return diameter, average hops and histogram over the servers; switches count as hops, not as ends.

    A circulant looks the same from every server, as do a torus, a full mesh and one switch: there a
    single search from server 0 is enough.

    Raises
    ------
    NoRoute
        If some server cannot reach another.
    """
    servers = topology.servers
    alike = bool(topology.offsets) or topology.family in _ALIKE_FROM_EVERY_SERVER
    sources = np.arange(1 if alike else servers)
    counts = np.zeros(topology.nodes, np.int64)
    for block in np.array_split(sources, 1 + len(sources) * topology.nodes // _ROWS_AT_ONCE):
        hops = hops_from(topology, block)[:, :servers]
        _refuse_unreached(topology, block, hops)
        counts += np.bincount(hops.ravel(), minlength=topology.nodes)
    counts = np.trim_zeros(counts, "b")
    counts *= servers // len(sources)
    counts[0] = 0
    diameter = len(counts) - 1
    average = float(counts @ np.arange(len(counts))) / (servers * (servers - 1))
    return HopMetrics(diameter, average, tuple(counts.tolist()))


def _refuse_unreached(topology: Topology, sources: Ints, hops: Ints32) -> None:
    missing = np.argwhere(hops < 0)
    if len(missing):
        row, server = (int(index) for index in missing[0])
        raise NoRoute(
            f"{topology.family} of {topology.servers} servers: server {int(sources[row])} cannot reach "
            f"server {server}; add a ring that visits every server"
        )
