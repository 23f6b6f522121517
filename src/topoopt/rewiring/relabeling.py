"""Which server takes which rank of a new topology, so that as many links as possible are there already.

Most common links of two unlabeled graphs is a quadratic assignment problem, hard in general. Up to eight servers all
assignments are tried. Beyond, the candidates are: nothing renamed; the maps r -> m·r + t (mod n), under which
circulants stay circulants; and what the fast approximate method of Vogelstein et al. [1]_ makes of random starts
(circulants are so even that it does not leave an orderly one). The best are improved by exchanging two servers as
long as that helps, and on up to 64 servers again after some of them were shaken. The chance is the same each time.

References
----------
.. [1] J. T. Vogelstein et al., "Fast approximate quadratic programming for graph matching", PLoS ONE 10, 2015.
"""

import itertools
from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np
from scipy.optimize import quadratic_assignment

from topoopt.arrays import Floats, Ints
from topoopt.rewiring.panels import Pair

LARGEST_EXHAUSTIVE = 8
"""Servers up to which all assignments are tried: 40,320 of them."""
_MOST_TRIED = 120  # of these, with the most common links, are divided among panels; of five servers all
LARGEST_IMPROVED = 256
"""Servers up to which assignments are improved one exchange at a time: a pass is cubic in them."""
_RANDOM_STARTS = ((64, 20), (160, 3))  # servers, and random starts up to so many
_LARGEST_SHAKEN, _SHAKES = 64, 60
_MOST_TURNS = 2_000_000  # entries looked up while trying r -> m·r + t
_MOST_STARTS = 5  # of each kind of assignment


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


def good_relabelings(old: Floats, new: Floats) -> list[Ints]:
    """Return assignments of ranks to servers with many common links, of different kinds.

    More than one, since of equally good ones some can be divided among panels with more links in place.

    Parameters
    ----------
    old, new : float64 arrays, shape (servers, servers)
        Links of each ordered pair.
    """
    if len(old) <= LARGEST_EXHAUSTIVE:
        return _all_of(old, new, _MOST_TRIED)
    rng = np.random.default_rng(len(old))
    turned = _best_first(old, new, _turned(old, new))[:_MOST_STARTS]
    if common_links(old, new, turned[0]) == min(old.sum(), new.sum()):
        return turned
    starts = [
        *turned,
        *_best_first(old, new, [np.arange(len(old)), *_approximate(old, new, rng)])[:_MOST_STARTS],
    ]
    if len(old) <= LARGEST_IMPROVED:
        starts = _best_first(old, new, [*starts, *(improved(old, new, place) for place in starts)])
    if len(old) <= _LARGEST_SHAKEN:
        starts.insert(0, _shaken(old, new, starts[0], rng))
    starts = _best_first(old, new, starts)[: _MOST_STARTS + 1]
    return [*starts, *turned]


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


def improved(old: Floats, new: Floats, place: Ints) -> Ints:
    """Exchange the two servers that gain most, again and again, until no exchange gains.

    The gains of all exchanges at once are two matrix products. Where links are parallel, sum(A ∘ B) is not quite what
    counts, so an exchange is only kept if there are more common links.
    """
    place = place.copy()
    best = common_links(old, new, place)
    for _ in range(4 * len(old)):
        gain = _gains(old[np.ix_(place, place)], new)
        u, v = np.unravel_index(int(gain.argmax()), gain.shape)
        other = place.copy()
        other[[u, v]] = place[[v, u]]
        count = common_links(old, new, other)
        if count <= best:
            return place
        place, best = other, count
    return place


def _gains(a: Floats, b: Floats) -> Floats:
    """Return by how much sum(A ∘ B) grows when u and v are exchanged in A, shape (servers, servers)."""
    shared = a @ b.T + a.T @ b  # row u of A beside row v of B, and so for columns
    own = np.diag(shared)
    # The products count the entries at u and v themselves wrongly; the last term makes up for it.
    return np.asarray(shared + shared.T - own[:, None] - own + (a + a.T) * (b + b.T))


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


def _approximate(old: Floats, new: Floats, rng: np.random.Generator) -> list[Ints]:
    """Return what the fast approximate method makes of random starts."""
    size = len(old)
    count = next((starts for servers, starts in _RANDOM_STARTS if size <= servers), 0)
    places = []
    for _ in range(count):
        start = 0.5 * np.eye(size)[rng.permutation(size)] + 0.5 / size  # row r: on which server rank r sits
        answer = quadratic_assignment(
            new, old, method="faq", options={"maximize": True, "P0": start, "rng": rng}
        )
        places.append(np.asarray(answer.col_ind, np.int64))
    return places


def _shaken(old: Floats, new: Floats, place: Ints, rng: np.random.Generator) -> Ints:
    """Move four ranks round by one, improve, and keep what is no worse; many times."""
    best = common_links(old, new, place)
    for _ in range(_SHAKES if len(place) > 4 else 0):
        other = place.copy()
        moved = rng.choice(len(place), 4, replace=False)
        other[moved] = place[np.roll(moved, 1)]
        other = improved(old, new, other)
        count = common_links(old, new, other)
        if count >= best:
            place, best = other, count
    return place


def _best_first(old: Floats, new: Floats, places: Sequence[Ints]) -> list[Ints]:
    unique = {place.tobytes(): place for place in places}
    return sorted(unique.values(), key=lambda place: -common_links(old, new, place))
