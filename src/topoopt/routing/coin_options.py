"""Which shortest coin sequences each distance uses, with which weights, so that no coin class is crowded.

Under demand that depends on distance only, a circulant looks the same from every server, so all links of
one coin carry the same bytes: the total of that coin over the distances. Balancing therefore has as many
loads as coins, and only *which multisets* are taken matters. The *order* of the coins matters for other
demands; alternatives left over go to different orders, drawn from the seed.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.routing.coin_change import CoinTable
from topoopt.routing.coin_options_kernel import coin_multisets
from topoopt.routing.option_weights_kernel import Options, shift_weights

# More multisets enter the balancing than may be used: the heaviest stay.
_CANDIDATES = 8
# Exponents of the price of the fullest class: soft first, then close to the true maximum.
_SHARPNESS = np.geomspace(4.0, 4000.0, 40)
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
    return _spread_over_orders(first, counts, weight, alternatives, seed)


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


def _spread_over_orders(
    first: Ints,
    counts: Ints32,
    weight: Floats,
    alternatives: int,
    seed: int,
) -> CoinOptions:
    """Give the unused alternatives of a distance to further orders of its multisets, heaviest first."""
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
    seen, so it is never worse than it was. :mod:`topoopt.routing.option_weights_kernel` describes the arrays.
    """
    options = Options(option_first, entry_first, resource, amount, capacity)
    price, best_load, best_weight = np.empty(len(load)), np.empty(len(load)), np.empty(len(weight))
    return float(shift_weights(options, load, weight, sharpness, price, best_load, best_weight))
