"""Direct routes: a pair talks over a link of its own or not at all; no server forwards."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import NoRoute
from topoopt.routing.path_arrays import PathArrays, paths_of_pair
from topoopt.routing.routes import Path
from topoopt.topologies import Topology


@dataclass(frozen=True, eq=False)
class DirectRoutes:
    """The link of each pair that has one."""

    topology: Topology
    method: ClassVar[str] = "direct"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the link of a pair as its only path; see :class:`topoopt.routing.Routes`."""
        return paths_of_pair(self, src, dst)

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs; a pair of a server with itself has none."""
        away = src != dst
        a, b = src[away], dst[away]
        lost = np.flatnonzero(self.topology.link_ids(a, b) < 0)
        if len(lost):
            raise NoRoute(
                f"no route {a[lost[0]]}->{b[lost[0]]}: no link joins them and servers do not forward; "
                "let servers forward or give the pair a link"
            )
        nodes = np.stack([a, b], axis=1).ravel().astype(np.int32)
        path_first = np.concatenate(([0], np.cumsum(away))).astype(np.int64)
        return PathArrays(path_first, np.arange(0, len(nodes) + 1, 2), nodes, np.ones(len(a)))
