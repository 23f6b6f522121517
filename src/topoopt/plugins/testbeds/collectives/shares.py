"""How a buffer is cut: a share for each ring, a chunk of that for each rank, pieces of that to keep links busy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from topoopt.plugins.testbeds.collectives.pytorch import torch

Tensor = Any  # torch.Tensor, whose own types differ from one version to the next

COLLECTIVES: Mapping[str, Callable[[int], range]] = {
    "allreduce": lambda size: range(2 * (size - 1)),
    "reduce-scatter": lambda size: range(size - 1),
    "all-gather": lambda size: range(size - 1, 2 * (size - 1)),
}
"""What rings of so many ranks can do, and the rounds that it takes. After a reduce-scatter each rank has the sum of one
chunk of each ring, and it is from there that an all-gather begins."""


@dataclass(frozen=True, slots=True)
class RingShare:
    """One rank's side of one ring, and the ring's share of the buffer.

    Attributes
    ----------
    before, after : int
        Ranks that it hears and sends to.
    place : int
        Of this rank in the ring.
    chunks : tuple of tuple of Tensor
        Views of the buffer: as many chunks as ranks, in pieces, of which some may be empty.
    tag : int
        Of all messages of this ring, which come in the order in which they were sent.
    rounds : range
        Which of the 2(k-1) rounds are done: the first half reduces and scatters, the second gathers.
    """

    before: int
    after: int
    place: int
    chunks: tuple[tuple[Tensor, ...], ...]
    tag: int
    rounds: range

    def sent(self, round_number: int) -> tuple[Tensor, ...]:
        """Return the pieces of the chunk that this rank sends in a round; it is what came in the round before."""
        return self.received(round_number - 1)

    def received(self, round_number: int) -> tuple[Tensor, ...]:
        """Return the pieces of the chunk that this rank gets in a round."""
        return self.chunks[(self.place - 1 - round_number) % len(self.chunks)]

    def reduces(self, round_number: int) -> bool:
        """Return whether what comes in a round is added; later ones replace."""
        return round_number < len(self.chunks) - 1


def cut(flat: Tensor, parts: int) -> tuple[Tensor, ...]:
    """Return consecutive views of a flat tensor, whose sizes differ by one element at most.

    Examples
    --------
    >>> [len(part) for part in cut(torch.zeros(7), 3)]
    [2, 2, 3]
    """
    bounds = [len(flat) * part // parts for part in range(parts + 1)]
    return tuple(flat[low:high] for low, high in pairwise(bounds))


def ring_shares(
    flat: Tensor, rings: tuple[tuple[int, ...], ...], rank: int, pieces: int, tag: int, collective: str
) -> list[RingShare]:
    """Return what one rank does in each ring; the buffer is split equally over the rings."""
    shares = []
    for number, (ring, share) in enumerate(zip(rings, cut(flat, len(rings)), strict=True)):
        place, size = ring.index(rank), len(ring)
        chunks = tuple(cut(chunk, pieces) for chunk in cut(share, size))
        before, after = ring[place - 1], ring[(place + 1) % size]
        rounds = COLLECTIVES[collective](size)
        shares.append(RingShare(before, after, place, chunks, tag + number, rounds))
    return shares


def bytes_of(tensor: Tensor) -> Tensor:
    """Return a view of a flat tensor as bytes, since not every backend sends every kind of number."""
    return tensor.view(torch.uint8)
