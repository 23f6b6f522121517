"""Explicit routes: paths written down pair by pair, by hand or by a repair."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing.routes import Path, PathArrays, paths_of_pair
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


@dataclass(frozen=True, eq=False)
class ExplicitRoutes:
    """A table of paths; make one with :func:`explicit_routes`."""

    topology: Topology
    table: Mapping[tuple[int, int], tuple[Path, ...]]
    method: ClassVar[str] = "explicit"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        if (src, dst) not in self.table:
            raise NoRoute(f"no route {src}->{dst}: the table of explicit routes has none; add one")
        return self.table[src, dst]


def explicit_routes(topology: Topology, paths: Iterable[Path]) -> ExplicitRoutes:
    """Return routes from paths in any order; the paths of a pair share its bytes by weight.

    Raises
    ------
    InvalidInput
        If a path is shorter than two nodes, visits a node twice, has no positive weight, or steps where the
        topology has no link; or the weights of a pair do not sum to 1.
    """
    table: dict[tuple[int, int], tuple[Path, ...]] = {}
    for path in paths:
        _check(topology, path)
        pair = (path.nodes[0], path.nodes[-1])
        table[pair] = (*table.get(pair, ()), path)
    for (src, dst), alike in table.items():
        total = sum(path.weight for path in alike)
        if abs(total - 1) > 1e-6:
            raise InvalidInput(f"routes: pair {src}->{dst}: weights must sum to 1, got {total:g}")
    return ExplicitRoutes(topology, table)


def _check(topology: Topology, path: Path) -> None:
    shown = "->".join(str(node) for node in path.nodes)
    if len(path.nodes) < 2 or len(set(path.nodes)) < len(path.nodes):
        raise InvalidInput(f"routes: path {shown or '(empty)'}: expected two or more nodes, each once")
    if not path.weight > 0:
        raise InvalidInput(f"routes: path {shown}: weight must be positive, got {path.weight}")
    for end in (path.nodes[0], path.nodes[-1]):
        if not 0 <= end < topology.servers:
            raise InvalidInput(
                f"routes: path {shown}: must join servers 0..{topology.servers - 1}, got {end}"
            )
    for a, b in zip(path.nodes, path.nodes[1:], strict=False):
        if not 0 <= b < topology.nodes or topology.link_id(a, b) < 0:
            raise InvalidInput(
                f"routes: path {shown}: the topology has no link {a}->{b}; wire it or route around it"
            )
