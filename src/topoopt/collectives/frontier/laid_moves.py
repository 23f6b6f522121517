"""Steps and bytes of transfers that are no neighbors: laid over all their shortest ways, an equal part on each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.collectives.moves import Moves
from topoopt.routing import EcmpRoutes, PairLinks, pair_links
from topoopt.topologies import hops_from


@dataclass(frozen=True, eq=False)
class Routed:
    """A wiring with the shortest ways between all its servers."""

    wiring: Wiring

    @cached_property
    def hops(self) -> Ints32:
        """Links between every two servers, shape (servers, servers)."""
        return hops_from(self.wiring.topology, np.arange(self.wiring.servers))

    def links(self, src: Ints, dst: Ints) -> PairLinks:
        """Return the links that pairs cross."""
        return pair_links(self.wiring.topology, EcmpRoutes(self.wiring.topology), src, dst)

    def cost(self, moves: Moves) -> tuple[int, float]:
        """Return steps and volume of a schedule; a step has as many links as its longest transfer."""
        n, links = self.wiring.servers, len(self.wiring.topology)
        pairs, row = np.unique(moves.src * n + moves.dst, return_inverse=True)
        crossed = self.links(*np.divmod(pairs, n))
        count = np.diff(crossed.pair_first)[row]
        entry = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        entry += np.repeat(crossed.pair_first[row], count)
        step = np.repeat(moves.step, count)
        carried = (
            np.repeat(moves.chunks, count)
            * crossed.share[entry]
            / self.wiring.topology.ports[crossed.link[entry]]
        )
        steps = int(moves.step[-1]) + 1
        load = np.bincount(step * links + crossed.link[entry], carried, steps * links).reshape(steps, links)
        longest = np.zeros(steps, np.int64)
        np.maximum.at(longest, moves.step, self.hops[moves.src, moves.dst])
        return int(longest.sum()), float(load.max(axis=1).sum()) * self.wiring.ports / moves.pieces
