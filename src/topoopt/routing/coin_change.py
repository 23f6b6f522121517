"""CoinChangeMod: on a circulant the route of a pair depends only on its distance, so one table serves all."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.topologies import tree_of_rows


@dataclass(frozen=True, eq=False)
class CoinTable:
    """Fewest coins that sum to each distance modulo ``n``.

    Attributes
    ----------
    n : int
        Number of servers on the circle.
    coins : tuple of int
        Steps, each in 1..n-1, sorted; a duplex stride p gives the coins p and n-p.
    distance : int32 array, shape (n,)
        Fewest coins for each distance; -1 where no coins reach it.
    orders : float64 array, shape (n,)
        Number of shortest paths: ordered shortest sequences (a float, since it outgrows integers).
    reached : int32 array, shape (reached,)
        The distances that can be reached, nearest first.
    """

    n: int
    coins: tuple[int, ...]
    distance: Ints32
    orders: Floats
    reached: Ints32

    @cached_property
    def _last(self) -> Ints:
        """Index of the smallest coin that ends a shortest sequence for each distance."""
        before = (np.arange(self.n) - np.array(self.coins)[:, None]) % self.n
        shorter = self.distance[before] == self.distance - 1
        return np.asarray(shorter.argmax(axis=0), np.int64)

    @property
    def connected(self) -> bool:
        """Whether every distance is reached."""
        return len(self.reached) == self.n

    @property
    def diameter(self) -> int:
        """Coins of the farthest distance.

        Raises
        ------
        NoRoute
            If the coins do not reach every distance.
        """
        self._require_connected()
        return int(self.distance.max())

    @property
    def average_hops(self) -> float:
        """Mean coins over the n-1 distances other than 0.

        Raises
        ------
        NoRoute
            If the coins do not reach every distance.
        """
        self._require_connected()
        return float(self.distance.sum(dtype=np.int64)) / (self.n - 1)

    def histogram(self) -> Ints:
        """Return how many distances need 0, 1, 2, … coins; unreached ones are not counted."""
        return np.bincount(self.distance[self.distance >= 0]).astype(np.int64)

    def sequence(self, distance: int) -> tuple[int, ...]:
        """Return one shortest multiset of coins for a distance, ascending, always the same one.

        Raises
        ------
        NoRoute
            If no coins reach the distance.
        """
        rest = self._check(distance)
        taken = []
        while rest:
            coin = self.coins[self._last[rest]]
            taken.append(coin)
            rest = (rest - coin) % self.n
        return tuple(sorted(taken))

    def alternatives(self, distance: int, limit: int | None = None) -> Iterator[tuple[int, ...]]:
        """Return the shortest multisets of coins for a distance, each ascending; all of them, or ``limit``.

        Every part of a shortest multiset is itself shortest for its own sum, so a branch ends as soon as
        taking one more coin brings the rest no nearer.

        Raises
        ------
        NoRoute
            If no coins reach the distance.
        """
        multisets = itertools.islice(self._spend(self._check(distance), 0), limit)
        return (
            tuple(c for c, k in zip(self.coins, counts, strict=True) for _ in range(k))
            for counts in multisets
        )

    def _spend(self, rest: int, position: int) -> Iterator[tuple[int, ...]]:
        """Yield counts of the coins from ``position`` on that pay ``rest``, most of the first coin last."""
        if position == len(self.coins):
            if rest == 0:
                yield ()
            return
        count = 0
        while True:
            for counts in self._spend(rest, position + 1):
                yield (count, *counts)
            nearer = (rest - self.coins[position]) % self.n
            if rest == 0 or self.distance[nearer] != self.distance[rest] - 1:
                return
            rest, count = nearer, count + 1

    def _check(self, distance: int) -> int:
        rest = distance % self.n
        if self.distance[rest] < 0:
            raise NoRoute(f"distance {rest} of {self.n} cannot be paid with the coins {_shown(self.coins)}")
        return rest

    def _require_connected(self) -> None:
        if not self.connected:
            missing = int(np.flatnonzero(self.distance < 0)[0])
            raise NoRoute(
                f"distance {missing} of {self.n} cannot be paid with the coins {_shown(self.coins)}; "
                "add a stride that shares no factor with the number of servers"
            )


def coin_change_mod(n: int, coins: Sequence[int]) -> CoinTable:
    """Return the fewest coins that sum to each distance modulo ``n`` (breadth first from 0).

    Parameters
    ----------
    n : int
        Number of servers.
    coins : sequence of int
        Link offsets in 1..n-1. A duplex stride p must be given as both p and n-p. Repeats are ignored.

    Raises
    ------
    InvalidInput
        If ``n`` is below 1 or a coin is outside 1..n-1.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 4. The paper fills the table by dynamic
       programming; breadth first gives the same fewest coins and also counts the ties.

    Examples
    --------
    >>> table = coin_change_mod(12, (1, 5, 7, 11))
    >>> table.diameter, table.sequence(6), list(table.alternatives(6))
    (3, (1, 5), [(7, 11), (1, 5)])
    """
    if n < 1:
        raise InvalidInput(f"coin change: n must be at least 1, got {n}")
    steps = tuple(sorted({int(coin) for coin in coins}))
    wrong = [coin for coin in steps if not 1 <= coin < n]
    if wrong:
        raise InvalidInput(f"coin change: every coin must be in 1..{n - 1} for n={n}, got {wrong[0]}")
    count = len(steps)
    neighbor = (np.arange(n)[:, None] + np.array(steps, np.int64)) % n
    tree, reached = tree_of_rows(np.arange(n + 1) * count, neighbor.astype(np.int32).ravel(), 0)
    return CoinTable(n, steps, tree.hops[0], tree.ways[0], reached)


def _shown(coins: tuple[int, ...]) -> str:
    return ", ".join(str(coin) for coin in coins) or "(none)"
