"""Direct routes: a pair talks over a link of its own or not at all; no server forwards."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topoopt.errors import NoRoute
from topoopt.routing.pair_links import PairLinks
from topoopt.routing.path_arrays import PathArrays
from topoopt.routing.routes import Path
from topoopt.topology import Topology


@dataclass(frozen=True, eq=False)
class DirectRoutes:
    """The link of each pair that has one."""

    topology: Topology
    method: ClassVar[str] = "direct"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the link of a pair as its only path; see :class:`topoopt.routing.Routes`."""
        self._links(np.array([src]), np.array([dst]))
        return (Path((src, dst)),)

    def path_arrays(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
        """Return the paths of many pairs; a pair of a server with itself has none."""
        away = src != dst
        self._links(src[away], dst[away])
        nodes = np.stack([src[away], dst[away]], axis=1).ravel().astype(np.int32)
        path_first = np.concatenate(([0], np.cumsum(away))).astype(np.int64)
        return PathArrays(path_first, np.arange(0, len(nodes) + 1, 2), nodes, np.ones(int(away.sum())))

    def pair_links(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PairLinks:
        """Return the links of many pairs."""
        away = src != dst
        link = self._links(src[away], dst[away])
        first = np.concatenate(([0], np.cumsum(away))).astype(np.int64)
        return PairLinks(first, link.astype(np.int32), np.ones(len(link)))

    def _links(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        link = self.topology.link_ids(src, dst)
        if (link < 0).any():
            lost = int(np.flatnonzero(link < 0)[0])
            raise NoRoute(
                f"no route {src[lost]}->{dst[lost]}: no link joins them and servers do not forward; "
                "let servers forward or give the pair a link"
            )
        return link
