"""Routes that are the same from every server, turned: of a wiring that is the same again some servers further."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Ints, numbered
from topoopt.base.errors import InvalidInput
from topoopt.routing.pair_links import LinkRows, links_of_paths, turned_rows
from topoopt.routing.routes import Path, PathArrays, Routes, path_arrays, paths_of_pair, paths_of_rows
from topoopt.topologies import LinkOrbits, Topology, link_orbits, turn_of


@dataclass(frozen=True, eq=False)
class TurnedRoutes:
    """Routes from the first servers, and for all others these turned: s → s + ``step``.

    All links that the turn leads to each other carry the same where the demand is the same after a turn. Memory is
    O(step · n) and not n².

    Attributes
    ----------
    routes : Routes
        Asked only for pairs of which the first is one of the first ``step`` servers.
    step : int

    Raises
    ------
    InvalidInput
        If the turn does not lead every link to a link like it.
    """

    topology: Topology
    routes: Routes
    step: int
    links_alike: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.orbits

    @property
    def method(self) -> str:
        """Name of the routes that are turned."""
        return self.routes.method

    @cached_property
    def orbits(self) -> LinkOrbits:
        """The links by what a turn does with them."""
        found = link_orbits(self.topology, self.step)
        if found is None:
            raise InvalidInput(
                f"routes: step {self.step}: the links of {self.topology.servers} servers are not the same again "
                f"so many servers further; they are after {turn_of(self.topology)}"
            )
        return found

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        return paths_of_pair(self, src, dst)

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        known, row = self._first(src, dst)
        moved = paths_of_rows(path_arrays(self.routes, *known), row)
        size = np.diff(moved.node_first[moved.path_first])
        nodes = (moved.nodes + np.repeat(src - src % self.step, size)) % self.topology.servers
        return replace(moved, nodes=nodes.astype(np.int32))

    def link_rows(self, src: Ints, dst: Ints) -> LinkRows:
        """Return the links of many pairs."""
        (known, row), orbits = self._first(src, dst), self.orbits
        rows = links_of_paths(self.topology, path_arrays(self.routes, *known))
        return turned_rows(rows, row, src // self.step * orbits.orbits, orbits.link, orbits.code)

    def _first(self, src: Ints, dst: Ints) -> tuple[tuple[Ints, Ints], Ints]:
        """Return the different pairs from the first servers that these are turns of, and the place of each."""
        servers = self.topology.servers
        begin = src % self.step
        known, row = numbered(begin * servers + (dst - src + begin) % servers, self.step * servers)
        a, b = np.divmod(known, servers)
        return (a, b), row


def turned_routes(topology: Topology, routes: Routes) -> Routes:
    """Return the routes from the first servers, turned for all others; themselves where no turn is known."""
    step = turn_of(topology)
    return routes if step == topology.servers else TurnedRoutes(topology, routes, step)
