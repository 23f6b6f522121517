"""CoinChangeMod: on a circulant the route of a pair depends only on its distance, so one table serves all.

Which shortest coin sequences each distance uses, with which weights, so that no coin class is crowded.

Under demand that depends on distance only, a circulant looks the same from every server, so all links of
one coin carry the same bytes: the total of that coin over the distances. Balancing therefore has as many
loads as coins, and only *which multisets* are taken matters. The *order* of the coins matters for other
demands; alternatives left over go to different orders, drawn from the seed.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing.coin_routes_kernel import coin_multisets
from topoopt.routing.path_weights_kernel import Options, shift_weights
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
        """Return the number of distances that need 0, 1, 2, … coins; unreached ones are not counted."""
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


def coin_length_distribution(table: CoinTable) -> Floats:
    """Return the share of ordered pairs within 1, 2, 3, … hops on the circulant of a coin table.

    Examples
    --------
    >>> from topoopt.routing import coin_change_mod
    >>> coin_length_distribution(coin_change_mod(12, (1, 5, 7, 11))).round(3).tolist()
    [0.364, 0.818, 1.0]
    """
    return np.cumsum(table.histogram()[1:]) / (table.n - 1)


def bandwidth_tax(ratio: float, average_hops: float) -> float:
    """Return bytes on links over bytes demanded, AllReduce bytes travelling one hop and MP bytes several.

    Parameters
    ----------
    ratio : float
        All-to-all bytes over AllReduce bytes.
    average_hops : float
        Mean hops of the all-to-all bytes.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 5.4.

    Examples
    --------
    >>> round(bandwidth_tax(0.8 * 64 / 2048, 5.622), 2)
    1.11
    """
    return (1 + ratio * average_hops) / (1 + ratio)


# More multisets enter the balancing than may be used: the heaviest stay.
_CANDIDATES = 8
# Exponents of the price of the fullest class: soft first, then close to the true maximum.
_SHARPNESS = np.geomspace(4.0, 4000.0, 40).round(9)
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True)
class CoinOptions:
    """Weighted coin sequences of every distance, stored as runs of equal coins.

    Attributes
    ----------
    first : int64 array, shape (n+1,)
        Options of each distance.
    coin, count : int32 arrays, shape (options, d)
        Index of the coin of each run and its length, in order of travel; runs of length 0 come last.
    weight : float64 array, shape (options,)
        Share of the bytes of that distance; sums to 1 over a distance.
    """

    first: Ints
    coin: Ints32
    count: Ints32
    weight: Floats

    def of(self, distances: Ints) -> Ints:
        """Return the indices of the options of some distances, concatenated."""
        return ranges(self.first[distances], self.first[distances + 1])


def single_options(table: CoinTable) -> CoinOptions:
    """Return the one sequence of each distance that :meth:`CoinTable.sequence` gives, ascending."""
    first, counts = _multisets(table, 1)
    size = len(counts)
    return _ordered(first, counts, np.ones(size), np.zeros(size, np.int64))


def balanced_options(table: CoinTable, capacity: Floats, alternatives: int, seed: int) -> CoinOptions:
    """Return up to ``alternatives`` sequences a distance that load the coin classes evenly.

    Parameters
    ----------
    table : CoinTable
        Fewest coins of each distance.
    capacity : float64 array, shape (coins,)
        Bandwidth of the links of each coin, in any unit.
    alternatives : int
        Most sequences of one distance.
    seed : int
        Decides which orders of a multiset are used.
    """
    first, counts = _multisets(table, max(_CANDIDATES, 2 * alternatives))
    weight = _balance(first, counts, capacity)
    first, counts, weight = _heaviest(first, counts, weight, alternatives)
    weight = _balance(first, counts, capacity)
    first, counts, weight = _heaviest(first, counts, weight, alternatives)
    size = np.diff(first)
    group = np.repeat(np.arange(len(size)), size)
    rank = np.arange(len(weight)) - first[group]
    kinds = (counts > 0).sum(axis=1)
    orders = np.where(kinds > 2, 2 * kinds, kinds)
    share = alternatives // size[group] + (rank < alternatives % size[group])
    copies = np.minimum(orders, share)
    begin = np.random.default_rng(seed).integers(0, 1 << 30, len(size))[group]
    option = np.repeat(np.arange(len(weight)), copies)
    copy = np.arange(len(option)) - np.repeat(np.cumsum(copies) - copies, copies)
    turn = (begin[option] + copy) % orders[option]
    per_group = np.bincount(group, copies, minlength=len(size)).astype(np.int64)
    new_first = np.concatenate(([0], np.cumsum(per_group)))
    return _ordered(new_first, counts[option], (weight / copies)[option], turn)


def ranges(start: Ints, stop: Ints) -> Ints:
    """Return the integers of several ranges, concatenated.

    Examples
    --------
    >>> ranges(np.array([3, 8]), np.array([5, 9])).tolist()
    [3, 4, 8]
    """
    size = stop - start
    return np.arange(size.sum()) + np.repeat(start - np.concatenate(([0], np.cumsum(size)[:-1])), size)


def _multisets(table: CoinTable, limit: int) -> tuple[Ints, Ints32]:
    d = len(table.coins)
    sizes = np.zeros(table.n, np.int32)
    counts = np.zeros((table.n, limit, d), np.int32)
    coin_multisets(np.array(table.coins, np.int64), table.distance, table.reached, sizes, counts)
    sizes[0] = 0  # no bytes go from a server to itself
    kept = np.arange(limit) < sizes[:, None]
    return np.concatenate(([0], np.cumsum(sizes))), counts[kept]


def _balance(first: Ints, counts: Ints32, capacity: Floats) -> Floats:
    size = np.diff(first)
    weight = np.repeat(1.0 / np.maximum(size, 1), size)
    option, coin = np.nonzero(counts)
    entry_first = np.searchsorted(option, np.arange(len(counts) + 1))
    amount = counts[option, coin].astype(np.float64)
    load = np.zeros(len(capacity))
    balance(first, entry_first, coin.astype(np.int32), amount, capacity, load, weight, _SHARPNESS)
    return weight


def _heaviest(first: Ints, counts: Ints32, weight: Floats, most: int) -> tuple[Ints, Ints32, Floats]:
    """Keep the ``most`` heaviest options of each distance, heaviest first, weights summing to 1."""
    groups = len(first) - 1
    group = np.repeat(np.arange(groups), np.diff(first))
    order = np.lexsort((np.arange(len(weight)), -weight, group))
    rank = np.arange(len(weight)) - first[group]
    kept = order[(rank < most) & ((weight[order] > _NEGLIGIBLE) | (rank == 0))]
    group, counts, weight = group[kept], counts[kept], weight[kept]
    total = np.bincount(group, weight, minlength=groups)
    return np.searchsorted(group, np.arange(groups + 1)), counts, weight / total[group]


def _ordered(first: Ints, counts: Ints32, weight: Floats, turn: Ints) -> CoinOptions:
    """Lay each multiset out as runs: turn t rotates the ascending coins by t, later turns the descending."""
    present = counts > 0
    kinds = np.maximum(present.sum(axis=1), 1)[:, None]
    rank = np.cumsum(present, axis=1) - 1
    rank = np.where(turn[:, None] < kinds, rank, kinds - 1 - rank)
    key = np.where(present, (rank - turn[:, None]) % kinds, counts.shape[1])
    coin = np.argsort(key, axis=1, kind="stable")
    return CoinOptions(first, coin.astype(np.int32), np.take_along_axis(counts, coin, axis=1), weight)


def balance(
    option_first: Ints,
    entry_first: Ints,
    resource: Ints32,
    amount: Floats,
    capacity: Floats,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
) -> float:
    """Shift weight between the options of each group until the highest utilisation is low; return it.

    Each sweep prices a resource exponentially in its utilisation, with ``sharpness[sweep]`` as the
    exponent of the fullest one, and moves weight from a group's dearest option to its cheapest by a
    Newton step. ``load`` enters as the background and leaves as the total; ``weight`` leaves as the best
    seen, so it is never worse than it was. :mod:`topoopt.routing.path_weights_kernel` describes the arrays.
    """
    options = Options(option_first, entry_first, resource, amount, capacity)
    price, best_load, best_weight = np.empty(len(load)), np.empty(len(load)), np.empty(len(weight))
    return float(shift_weights(options, True, load, weight, sharpness, price, best_load, best_weight))
