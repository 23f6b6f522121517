"""The noun Ring: the closed walk along which a group's AllReduce travels."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints


@dataclass(frozen=True, slots=True)
class Ring:
    """One logical ring of a group and the physical walk under it.

    Attributes
    ----------
    stride : int
        The stride p on positions in the sorted member list (0 where the ring follows no stride).
    walk : tuple of int
        Every node passed, in order, starting at a member; the last returns to the first. Where all
        logical neighbors are linked directly, the walk holds the members only. A ring through relays or
        switches passes other nodes too.
    members : tuple of int
        The members in ring order, a subsequence of ``walk``.
    """

    stride: int
    walk: tuple[int, ...]
    members: tuple[int, ...]

    @property
    def hops(self) -> int:
        """Number of links of the walk."""
        return len(self.walk)

    def edges(self) -> tuple[Ints, Ints]:
        """Return sources and destinations of the walk's links, each of shape (hops,)."""
        nodes = np.asarray(self.walk, np.int64)
        return nodes, np.roll(nodes, -1)

    def backwards(self) -> "Ring":
        """Return the same ring the other way round, from the same member."""
        return Ring(0, (self.walk[0], *self.walk[:0:-1]), (self.members[0], *self.members[:0:-1]))
