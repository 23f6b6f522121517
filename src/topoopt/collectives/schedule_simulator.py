"""The plain simulator of schedules: ranks with buffers of numbers that send, store and add up, step by step."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from topoopt.base.arrays import Flags, Ints, Words
from topoopt.collectives.schedule import Transfers


@dataclass(frozen=True, eq=False)
class Buffers:
    """What every rank holds of every chunk, and whether it holds it; shape (ranks, chunks)."""

    value: Words
    held: Flags

    def send(self, src: Ints, dst: Ints, chunk: Ints, reduce: Flags) -> None:
        """Let all of these chunks be sent at once; sums are of 64-bit words and wrap around.

        Raises
        ------
        AssertionError
            If a rank sends what it does not have, or two store over the same chunk.
        """
        assert self.held[src, chunk].all(), "a rank sends a chunk that it does not have"
        carried = self.value[src, chunk]
        stored = ~reduce
        place = dst[stored] * self.value.shape[1] + chunk[stored]
        assert len(np.unique(place)) == len(place), "two store over the same chunk in one step"
        self.value[dst[stored], chunk[stored]] = carried[stored]
        self.held[dst[stored], chunk[stored]] = True
        assert self.held[dst[reduce], chunk[reduce]].all(), "a rank adds to a chunk that it does not have"
        np.add.at(self.value, (dst[reduce], chunk[reduce]), carried[reduce])


def buffers_before(collective: str, ranks: int, chunks: int) -> Buffers:
    """Return what the ranks hold before a collective: numbers drawn by chance."""
    value = np.random.default_rng(ranks).integers(0, 2**64, (ranks, chunks), np.uint64)
    rank, chunk = np.arange(ranks)[:, None], np.arange(chunks)
    if collective == "all-gather":
        held = chunk // (chunks // ranks) == rank
    elif collective == "all-to-all":
        held = chunk // ranks == rank
    else:
        held = np.ones((ranks, chunks), np.bool_)
    return Buffers(np.where(held, value, np.uint64(0)), held)


def missing_after(collective: str, before: Buffers, after: Buffers) -> int:
    """Return how many chunks are not where they should be, or have not the value that they should have."""
    ranks, chunks = before.value.shape
    rank, chunk = np.arange(ranks)[:, None], np.arange(chunks)
    goal = before.value.sum(axis=0, dtype=np.uint64)  # of what one rank alone had, that
    if collective == "reduce-scatter":
        wanted = chunk // (chunks // ranks) == rank
    elif collective == "all-to-all":
        wanted = chunk % ranks == rank
    else:
        wanted = np.ones((ranks, chunks), np.bool_)
    return int((wanted & ~(after.held & (after.value == goal))).sum())


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    """What came out when a schedule was played.

    Attributes
    ----------
    missing : int
        Chunks that did not arrive, or arrived wrong.
    transfers : int
        Messages: runs of chunks.
    chunks : int
        In the whole message.
    fullest : tuple of int
        Chunks that the busiest pair of sender and receiver exchanged in each step.
    """

    missing: int
    transfers: int
    chunks: int
    fullest: tuple[int, ...]

    def shards(self, ranks: int) -> tuple[Fraction, ...]:
        """Return :attr:`fullest` in shards, of which the message has as many as there are ranks."""
        return tuple(Fraction(count * ranks, self.chunks) for count in self.fullest)


def play(transfers: Transfers) -> PlayedSchedule:
    """Play a schedule on real buffers, and say what arrived.

    Raises
    ------
    AssertionError
        If a rank sends what it does not have.
    """
    ranks = transfers.ranks
    before = buffers_before(transfers.collective, ranks, transfers.chunks)
    after = Buffers(before.value.copy(), before.held.copy())
    bounds = np.searchsorted(transfers.step, np.arange(transfers.steps + 1))
    fullest = []
    for begin, end in pairwise(bounds.tolist()):
        count = transfers.count[begin:end]
        row = np.repeat(np.arange(begin, end), count)
        inner = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        src, dst = transfers.src[row], transfers.dst[row]
        after.send(src, dst, transfers.first[row] + inner, transfers.reduce[row])
        fullest.append(int(np.bincount(src * ranks + dst).max(initial=0)))
    missing = missing_after(transfers.collective, before, after)
    return PlayedSchedule(missing, len(transfers), transfers.chunks, tuple(fullest))
