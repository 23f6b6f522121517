"""Equal-cost multi-path: every node splits equally over all ports that lead nearer to the destination."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topoopt.routing.breadth_first import TreesTo, require_reached, trees_to
from topoopt.routing.kernel import ecmp_shares
from topoopt.routing.pair_links import PairLinks
from topoopt.routing.routes import Path
from topoopt.topology import Topology


@dataclass(frozen=True, eq=False)
class EcmpRoutes:
    """All shortest paths, split hop by hop; a merged fat link counts once for each of its ports.

    Link shares are exact. ``paths`` lists a pair's paths one by one and so only where there are at most
    ``limit`` of them; beyond that it gives the first ``limit`` in the order of node ids, their weights scaled up to 1.
    """

    topology: Topology
    limit: int = 64
    _trees: TreesTo = field(init=False, repr=False)
    method: ClassVar[str] = "ecmp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_trees", TreesTo(self.topology))

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        to = self._trees.of(dst).hops[0]
        require_reached(to[[src]], np.array([src]), np.array([dst]))
        found = [path for path, _ in zip(self._walk((src,), 1.0, to), range(self.limit), strict=False)]
        total = sum(path.weight for path in found)
        return tuple(Path(path.nodes, path.weight / total) for path in found)

    def pair_links(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PairLinks:
        """Return the links of many pairs."""
        ends, row = np.unique(dst, return_inverse=True)
        hops = trees_to(self.topology, ends).hops
        require_reached(hops[row, src], src, dst)
        first_link = self.topology.first_link.astype(np.int64)
        # The kernel is compiled once, for arrays without gaps.
        pairs = [np.ascontiguousarray(part) for part in (row, src, dst)]
        return PairLinks(*ecmp_shares(first_link, self.topology.dst, self.topology.ports, hops, *pairs))

    def _walk(self, nodes: tuple[int, ...], weight: float, to: NDArray[np.int32]) -> Iterator[Path]:
        here = nodes[-1]
        if to[here] == 0:
            yield Path(nodes, weight)
            return
        links = np.arange(self.topology.first_link[here], self.topology.first_link[here + 1])
        nearer = links[to[self.topology.dst[links]] == to[here] - 1]
        ports = self.topology.ports[nearer]
        for link, part in zip(nearer, ports / ports.sum(), strict=True):
            yield from self._walk((*nodes, int(self.topology.dst[link])), weight * float(part), to)
