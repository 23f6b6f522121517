"""SelectPermutations: which strides of a group get interfaces, by a rule chosen by name."""

import itertools
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Floats, Ints32, first_least
from topoopt.base.errors import InvalidInput, check_known
from topoopt.finder.totient_perms import totient_perms
from topoopt.routing import coin_change_mod
from topoopt.topologies import LINK_MODELS, best_circulant, stride_offsets
from topoopt.workloads import Traffic

_ENTRIES_AT_ONCE = 1 << 22
_LARGEST = 8192  # servers: the search is quadratic


class StrideRule(Protocol):
    """Chooses which rings of a group get links."""

    def __call__(self, size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return ``count`` strides for a group of ``size``; ``also`` are strides wired in any case.

        Where there are fewer different strides than requested, the first ones repeat as parallel links.
        """
        ...


def nearest(size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the candidates nearest to a geometric sequence (the paper's Algorithm 3).

    The next stride is the one closest to the last times n^(1/count); of two as close, the larger. In
    duplex mode p is no candidate once n-p is taken, since its cables are the same.

    Examples
    --------
    >>> nearest(16, 3, "directed"), nearest(128, 4, "duplex")
    ((1, 3, 7), (1, 3, 11, 37))
    """
    ratio = size ** (1 / count)
    left = totient_perms(size).copy()
    picked: list[int] = []
    while len(left) and len(picked) < count:
        distance = np.abs(left - picked[-1] * ratio) if picked else left
        stride = int(left[np.flatnonzero(distance == distance.min())[-1]])
        picked.append(stride)
        taken = (left == stride) | ((left == size - stride) & (links == "duplex"))
        left = left[~taken]
    return repeated(picked, count)


def lower_bound(size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the first unused candidates at or above a geometric sequence (the authors' released code).

    The ratio is the span of the candidates to the power 1/count, or 1/(count-1) in directed mode. Faithful to the
    release, p and n-p may both be taken in duplex mode, which gives parallel links. Above the last candidate the
    largest unused one is chosen.

    Examples
    --------
    >>> lower_bound(128, 4, "duplex"), lower_bound(12, 3, "duplex")
    ((1, 5, 13, 39), (1, 5, 7))
    """
    candidates = totient_perms(size)
    roots = count if links == "duplex" else max(count - 1, 1)
    ratio = float(candidates[-1] / candidates[0]) ** (1 / roots)
    left = candidates.copy()
    picked: list[int] = []
    for power in range(min(count, len(candidates))):
        # A hair below the power, so that ratio ** roots still finds the last candidate itself.
        at = min(int(np.searchsorted(left, ratio**power * (1 - 1e-12))), len(left) - 1)
        picked.append(int(left[at]))
        left = np.delete(left, at)
    return repeated(picked, count)


def repeated(picked: list[int], count: int) -> tuple[int, ...]:
    """Return the picks, from the first again where there are too few."""
    return tuple(picked[i % len(picked)] for i in range(count))


_Strides = Ints32  # shape (count,)
_STEPS = 8_000_000  # link visits of the search for small n: 5 to 15 ms
_STEPS_PER_SERVER = 4_000  # and for large n


@lru_cache(maxsize=1024)
def best(size: int, count: int, links: str, also: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the strides of least diameter, and among those of least average hops.

    One stride is 1 without loss of generality: dividing all strides by one of them renumbers the servers. All
    sets are tried if there are few, and of equally good ones a published rule's is kept. Otherwise the better
    of the two published rules is improved by replacing one stride at a time, and again from random starts,
    until a fixed amount of work is spent; so the answer is never worse than either rule, and always the same.

    Examples
    --------
    >>> best(128, 2, "duplex")
    (1, 15)
    """
    candidates = totient_perms(size).astype(np.int32)
    if links == "duplex":
        candidates = candidates[2 * candidates <= size]
    if count >= len(candidates):
        return repeated(candidates.tolist(), count)
    search = _Search(size, links, also, candidates, count)
    steps_of_one = size * search.steps_per_set
    if math.comb(len(candidates) - 1, count - 1) * steps_of_one <= search.steps_left:
        others = itertools.combinations(candidates[1:].tolist(), count - 1)
        everything = np.array([(1, *rest) for rest in others], np.int32)
        return _ascending(search.improve(everything, _published(search))[0])
    rng = np.random.default_rng((search.size, search.count))
    answer = _descend(search, _published(search), rng)
    while search.steps_left > 0:
        rows = [rng.choice(search.candidates[1:], search.count - 1, replace=False) for _ in range(16)]
        random_sets = np.concatenate([np.ones((16, 1), np.int32), np.array(rows, np.int32)], axis=1)
        start = search.improve(random_sets, search.nothing_yet)
        again = _descend(search, start, rng)
        if again[1:] < answer[1:]:
            answer = again
    local_search = answer[0]
    return _ascending(local_search)


_Best = tuple[_Strides, int, int]  # strides, diameter, total hops from one server


class _Search:
    def __init__(self, size: int, links: str, also: tuple[int, ...], candidates: Ints32, count: int) -> None:
        self.size, self.links, self.candidates, self.count = size, links, candidates, count
        self.also = np.array(also, np.int32)
        self.steps_per_set = len(also) + count * (2 if links == "duplex" else 1)
        self.steps_left = max(_STEPS, _STEPS_PER_SERVER * size)
        self.nothing_yet: _Best = (np.ones(count, np.int32), size, size * size)

    def improve(self, sets: Ints32, best_yet: _Best) -> _Best:
        """Return the best of the stride sets, shape (sets, count), or ``best_yet`` if none is better."""
        self.steps_left -= len(sets) * self.size * self.steps_per_set
        also = np.broadcast_to(self.also, (len(sets), len(self.also)))
        mirrored = [self.size - sets] if self.links == "duplex" else []
        offsets = np.ascontiguousarray(np.concatenate([sets, *mirrored, also], axis=1), np.int32)
        met_by, queue = np.full((2, self.size), -1, np.int32)
        row, diameter, total = best_circulant(offsets, best_yet[1], best_yet[2], met_by, queue)
        return best_yet if row < 0 else (sets[row], diameter, total)


def _published(search: _Search) -> _Best:
    """Return the better of the two published rules; nothing that is only as good replaces it."""
    published = [rule(search.size, search.count, search.links) for rule in (nearest, lower_bound)]
    sets = np.array(published, np.int32)
    if search.links == "duplex":
        sets = np.minimum(sets, search.size - sets)
    return search.improve(sets, search.nothing_yet)


def _ascending(strides: _Strides) -> tuple[int, ...]:
    return tuple(sorted(strides.tolist()))


STRIDE_RULES: Mapping[str, StrideRule] = {"best": best, "nearest": nearest, "lower-bound": lower_bound}


def select_permutations(
    size: int, degree: int, *, links: str = "duplex", rule: str = "best", demand_bytes: Floats | None = None
) -> tuple[int, ...]:
    """Return the strides on which a group of ``size`` spends ``degree`` interfaces of every member.

    Directed links: one stride an interface. Duplex: one stride, used as +p and -p, for two interfaces; an
    odd interface takes the half turn size/2 where the size is even (it makes no ring) and idles where it
    is odd. In a group of two every interface is a cable of stride 1.

    Parameters
    ----------
    demand_bytes : float64 array, shape (size,), optional
        Model-parallel bytes over each distance, summed over the members. Rule ``best`` has many equally good answers,
        which differ in the neighbors; of these it then takes the one that moves the bytes over the fewest hops.

    Raises
    ------
    InvalidInput
        If the degree is too small for one ring, or a name is unknown.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 3.

    Examples
    --------
    >>> select_permutations(16, 4, rule="lower-bound"), select_permutations(128, 4)
    ((1, 5), (1, 15))
    """
    check_known("links", links, LINK_MODELS)
    check_known("strides", rule, STRIDE_RULES)
    cost = ring_interfaces(size, links)
    if degree < cost:
        raise InvalidInput(f"degree: a {links} ring of {size} takes {cost} interfaces a server, got {degree}")
    half_turn = (size // 2,) if degree % cost and size % 2 == 0 else ()
    strides = STRIDE_RULES[rule](size, degree // cost, links, half_turn)
    if rule == "best" and demand_bytes is not None:
        strides = fit_demand(size, strides, links, half_turn, demand_bytes)
    return strides + half_turn


def ring_interfaces(size: int, links: str) -> int:
    """Return the interfaces of every member that one stride takes."""
    return 2 if links == "duplex" and size > 2 else 1


def _descend(search: _Search, best_yet: _Best, rng: np.random.Generator) -> _Best:
    """Replace one stride at a time (never the 1) until no replacement helps."""
    most = max(16, search.steps_left // (4 * search.count * search.size * search.steps_per_set))
    position, in_vain = 1, 0
    while in_vain < search.count - 1 and search.steps_left > 0:
        strides = best_yet[0]
        others = np.setdiff1d(search.candidates, strides)
        if len(others) > most:
            others = rng.choice(others, most, replace=False)
        moves = np.repeat(strides[None, :], len(others), axis=0)
        moves[:, position] = others
        better = search.improve(moves, best_yet)
        in_vain = 0 if better is not best_yet else in_vain + 1
        best_yet = better
        position = position % (search.count - 1) + 1
    return best_yet


def demand_by_distance(traffic: Traffic) -> Floats:
    """Return the model-parallel bytes over each distance (dst - src) mod n, shape (servers,).

    An all-to-all group counts, for each distance, the pairs of members that far apart: the circular
    correlation of its membership with itself, in O(n log n) and without a matrix of pairs.
    """
    servers = traffic.servers
    total = np.zeros(servers)
    alike: dict[tuple[int, ...], int] = {}  # groups that are turned images of each other are as far apart
    for group in traffic.alltoall:
        shape = tuple(one - group.members[0] for one in group.members)
        alike[shape] = alike.get(shape, 0) + group.bytes_per_pair
    for shape, bytes_per_pair in alike.items():
        member = np.zeros(servers)
        member[list(shape)] = 1.0
        pairs = np.fft.irfft(np.abs(np.fft.rfft(member)) ** 2, servers)
        total += np.rint(pairs) * bytes_per_pair
    distance = (traffic.transfers.dst - traffic.transfers.src) % servers
    total += np.bincount(distance, traffic.transfers.size_bytes, minlength=servers)
    total[0] = 0.0
    return total


def fit_demand(
    size: int, strides: tuple[int, ...], links: str, also: tuple[int, ...], demand_bytes: Floats
) -> tuple[int, ...]:
    """Return the strides times the unit u (mod size) that minimize bytes × hops; u = 1 if none is better.

    Above 8,192 servers they are unchanged.

    Multiplying every stride by a u without a factor in common with ``size`` renumbers the servers, so
    diameter and average hops stay; the distance D becomes as long as D/u was.

    Parameters
    ----------
    demand_bytes : float64 array, shape (size,)
        See :func:`demand_by_distance`.
    """
    if size > _LARGEST or (demand_bytes[1:] == demand_bytes[1]).all():
        return strides
    units = totient_perms(size)
    if links == "duplex":
        units = units[2 * units <= size]
    hops = coin_change_mod(size, tuple(stride_offsets(size, strides + also, links))).distance
    distances = np.flatnonzero(hops > 1)  # what is not direct
    blocks = np.array_split(units, 1 + len(units) * size // _ENTRIES_AT_ONCE)
    extra = np.concatenate(
        [demand_bytes[block[:, None] * distances % size] @ (hops[distances] - 1.0) for block in blocks]
    )
    best = first_least(extra)
    if extra[best] >= extra[0] * (1 - 1e-9):
        return strides
    turned = np.array(strides) * units[best] % size
    return tuple(sorted((np.minimum(turned, size - turned) if links == "duplex" else turned).tolist()))
