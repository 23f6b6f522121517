"""Which server takes which rank of a new topology, so that as many links as possible are there already.

Most common links of two unlabeled graphs is a quadratic assignment problem, hard in general. Up to eight servers all
assignments are tried. Beyond, these are the maps r -> m·r + t (mod n), under which circulants stay circulants; what
else there is comes from ``annealing.py``, which looks at the panels, too.
"""

import itertools
from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder.rewiring.panels import Pair

LARGEST_EXHAUSTIVE = 8
"""Servers up to which all assignments are tried: 40,320 of them."""
_MOST_TRIED = 120  # of these, with the most common links, are divided among panels; of five servers all
_MOST_TURNS = 2_000_000  # entries looked up while trying r -> m·r + t
_MOST_TURNED = 5


def link_matrix(links: Mapping[Pair, int], servers: int, duplex: bool) -> Floats:
    """Return the number of links of each ordered pair, shape (servers, servers)."""
    matrix = np.zeros((servers, servers))
    for (src, dst), count in links.items():
        matrix[src, dst] = count
        if duplex:
            matrix[dst, src] = count
    return matrix


def common_links(old: Floats, new: Floats, place: Ints) -> int:
    """Return how many links, counted each way, are in both when rank r sits on server ``place[r]``."""
    return int(np.minimum(old[np.ix_(place, place)], new).sum())


def orderly_relabelings(old: Floats, new: Floats) -> list[Ints]:
    """Return assignments of ranks to servers with many common links: of few servers all, else the maps.

    More than one, since of equally good ones some can be divided among panels with more links in place.

    Parameters
    ----------
    old, new : float64 arrays, shape (servers, servers)
        Links of each ordered pair.
    """
    if len(old) <= LARGEST_EXHAUSTIVE:
        return _all_of(old, new, _MOST_TRIED)
    return _best_first(old, new, _turned(old, new))[:_MOST_TURNED]


def most_common_links(old: Floats, new: Floats) -> int:
    """Return a number of common links, counted each way, that no assignment exceeds.

    For symmetric A and B and any permutation P, |A - PBPᵀ|² is at least the sum of squared differences of the sorted
    eigenvalues (Hoffman and Wielandt); for others the same holds of singular values (Mirsky). Entries differ by at
    most the largest number of parallel links, which turns squares into links.
    """
    if len(old) <= LARGEST_EXHAUSTIVE:
        return common_links(old, new, _all_of(old, new, 1)[0])
    both = int(min(old.sum(), new.sum()))
    largest = max(old.max(), new.max(), 1.0)
    symmetric = (old == old.T).all() and (new == new.T).all()
    spectra = [np.linalg.eigvalsh(m) if symmetric else np.linalg.svd(m, compute_uv=False) for m in (old, new)]
    differ = float(((spectra[0] - spectra[1]) ** 2).sum()) / largest
    # differing entries = |A| + |B| - 2 · common
    return min(both, int(np.floor((old.sum() + new.sum() - differ) / 2 + 1e-6)))


def _all_of(old: Floats, new: Floats, most: int) -> list[Ints]:
    orders = np.array(list(itertools.permutations(range(len(old)))), np.int64)
    common = np.minimum(old[orders[:, :, None], orders[:, None, :]], new).sum(axis=(1, 2))
    return [orders[row] for row in np.argsort(-common, kind="stable")[:most]]


def _turned(old: Floats, new: Floats) -> list[Ints]:
    """Return the maps r -> m·r + t, the best turn t of each multiplier m."""
    size = len(old)
    rank = np.arange(size)
    src, dst = np.nonzero(new)
    units = [m for m in range(1, size) if gcd(m, size) == 1]
    turns = max(1, min(size, _MOST_TURNS // (len(units) * max(len(src), 1))))
    places = []
    for m in units:
        maps = [(m * rank + t) % size for t in range(turns)]
        counts = [np.minimum(old[place[src], place[dst]], new[src, dst]).sum() for place in maps]
        places.append(maps[int(np.argmax(counts))])
    return places


def _best_first(old: Floats, new: Floats, places: Sequence[Ints]) -> list[Ints]:
    unique = {place.tobytes(): place for place in places}
    return sorted(unique.values(), key=lambda place: -common_links(old, new, place))
