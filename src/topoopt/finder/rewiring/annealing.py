"""Which server takes which rank, so that most links stay on the panels on which they are: by simulated annealing."""

from collections.abc import Iterable, Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.finder.rewiring.relabeling_kernel import There, Wanted, anneal_places
from topoopt.finder.rewiring.wiring import Wiring

_LARGEST = 1 << 28  # entries of the table of old links: 256 MB
_STEPS, _MOST_STEPS = 20_000, 2_000_000  # exchanges of a start, for each server and in all; 0.4 s or so
_HOT, _MILD, _COLD = 0.35, 0.2, 0.08  # links: a random start, an orderly one, and at last


def annealed_places(
    old: Wiring, new: Wiring, servers: int, starts: Iterable[Ints], random_starts: int
) -> Iterator[Ints]:
    """Yield assignments of ranks to servers in which many patches of ``new`` are patches of ``old``.

    The panels of both stay what they are, where they have several. That is harder than to have many links in common,
    but links that are in common on other panels must move nevertheless: on 128 servers of 4 ports 138 of 256 cables
    stay like this, where a division among panels of the most common links that are found, 149, leaves 72.

    Parameters
    ----------
    old, new : Wiring
        Patches among servers 0 .. servers - 1, on equal panels.
    starts : iterable of int64 arrays, shape (servers,)
        To begin with, beside random ones.
    """
    if not old.patches or not new.patches or old.panels * servers**2 > _LARGEST:
        return
    rng = np.random.default_rng(servers)
    there, wanted = _there(old, servers), _wanted(new, servers)
    steps = min(_STEPS * servers, _MOST_STEPS)
    both = [(start, _MILD) for start in starts]
    both += [(rng.permutation(servers), _HOT) for _ in range(random_starts)]
    for start, hot in both:
        best, rank = np.empty((2, servers), np.int64)
        state = np.array([rng.integers(1, 2**62)], np.uint64)
        cooling = (_COLD / hot) ** (1 / steps)
        anneal_places(there, wanted, start.astype(np.int64), rank, best, steps, hot, cooling, state)
        yield best


def _ends(wiring: Wiring) -> tuple[Ints, Ints, Ints]:
    rows = [(patch.src, patch.dst, wiring.panel_of(patch)) for patch in wiring.patches]
    src, dst, panel = np.array(rows, np.int64).T
    return src, dst, panel


def _there(old: Wiring, servers: int) -> There:
    src, dst, panel = _ends(old)
    table = np.zeros((old.panels, servers, servers), np.int8)
    np.add.at(table, (panel, src, dst), 1)
    if old.links == "duplex":
        np.add.at(table, (panel, dst, src), 1)
    near, far = np.concatenate([src, dst]), np.concatenate([dst, src])
    order = np.argsort(near, kind="stable")
    return There(table, np.searchsorted(near[order], np.arange(servers + 1)), far[order])


def _wanted(new: Wiring, servers: int) -> Wanted:
    src, dst, panel = _ends(new)
    rows, count = np.unique(np.stack([src, dst, panel], axis=1), axis=0, return_counts=True)
    src, dst, panel = rows.T
    none = np.zeros(len(count), np.int64)
    back = (count, none) if new.links == "duplex" else (none, count)
    rank, other = np.concatenate([src, dst]), np.concatenate([dst, src])
    out, into = np.concatenate([count, back[0]]), np.concatenate([none, back[1]])
    order = np.argsort(rank, kind="stable")
    of = np.searchsorted(rank[order], np.arange(servers + 1))
    return Wanted(of, other[order], np.tile(panel, 2)[order], out[order], into[order])
