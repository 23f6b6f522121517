"""Rings of an AllReduce, along strides or of a plan, and the shares of a buffer that each of them carries."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plans import Plan, read_plan
from topoopt.plugins.testbeds.collectives.pytorch import torch

Rings = tuple[tuple[int, ...], ...]
"""Ranks of each ring, in its order; the last sends to the first. All rings have the same ranks."""
MOST_RINGS = 64
"""Bits of a message's tag for the number of its ring."""
Tensor = Any  # torch.Tensor, whose own types differ from one version to the next
COLLECTIVES: Mapping[str, Callable[[int], range]] = {
    "allreduce": lambda size: range(2 * (size - 1)),
    "reduce-scatter": lambda size: range(size - 1),
    "all-gather": lambda size: range(size - 1, 2 * (size - 1)),
}
"""Collectives over rings of a number of ranks, and their rounds. After a reduce-scatter, each rank has the sum of
one chunk of each ring, from which an all-gather starts."""


@dataclass(frozen=True, slots=True)
class RingShare:
    """One rank's side of one ring, and the ring's share of the buffer.

    Attributes
    ----------
    before, after : int
        Ranks that it receives from and sends to.
    chunks : tuple of tuple of Tensor
        Views of the buffer: as many chunks as ranks, in pieces, of which some may be empty.
    tag : int
        Tag of all messages of this ring, which arrive in the order in which they were sent.
    rounds : range
        Rounds to run out of 2(k-1): the first half reduces and scatters, the second gathers.
    """

    before: int
    after: int
    place: int
    chunks: tuple[tuple[Tensor, ...], ...]
    tag: int
    rounds: range

    def sent(self, round_number: int) -> tuple[Tensor, ...]:
        """Return the pieces of the chunk that this rank sends in a round; it was received in the round before."""
        return self.received(round_number - 1)

    def received(self, round_number: int) -> tuple[Tensor, ...]:
        """Return the pieces of the chunk that this rank gets in a round."""
        return self.chunks[(self.place - 1 - round_number) % len(self.chunks)]

    def reduces(self, round_number: int) -> bool:
        """Return whether the data received in a round is added; later ones replace."""
        return round_number < len(self.chunks) - 1


def rings_of_plan(
    plan: Plan | str | os.PathLike[str],
    servers: Sequence[int] | None = None,
    rank_of: Sequence[int] | None = None,
) -> Rings:
    """Return the rings that a plan has for a group of its servers.

    Parameters
    ----------
    plan
        A plan or its file.
    servers
        Members of the group; all servers of the plan if not given. A group for which the plan has no rings gets one
        in the order of its members.
    rank_of
        Rank on each server of the plan; if not given, rank i is on server i.

    Raises
    ------
    InvalidInput
        If the plan cannot be read, or has not all of these servers.
    """
    read = plan if isinstance(plan, Plan) else read_plan(os.fspath(plan))
    count = read.fabric.topology.servers
    members = tuple(range(count)) if servers is None else tuple(sorted(servers))
    if not members or members[0] < 0 or members[-1] >= count:
        raise InvalidInput(f"servers: expected numbers in 0..{count - 1}, got {list(members)}")
    if rank_of is not None and len(rank_of) != count:
        raise InvalidInput(f"rank_of: expected a rank for each of {count} servers, got {len(rank_of)}")
    rings = tuple(ring.members for ring in read.fabric.rings.get(members, ())) or (members,)
    if rank_of is None:
        return rings
    return tuple(tuple(rank_of[server] for server in ring) for ring in rings)


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
    """Return the share of one rank in each ring; the buffer is split equally over the rings."""
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


def rings_of_strides(ranks: Sequence[int], strides: Sequence[int]) -> Rings:
    """Return a ring for each stride p: from the i-th of the ranks to the (i + p)-th.

    Parameters
    ----------
    ranks : sequence of int
        Members in the order that strides count in, such as ``range(12)``.
    strides : sequence of int
        Each without a factor in common with the number of ranks. A duplex cable along p is also one along ``k - p``.

    Raises
    ------
    InvalidInput
        If a stride does not come by every rank.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 4.3.

    Examples
    --------
    >>> rings_of_strides(range(5), (1, 3))
    ((0, 1, 2, 3, 4), (0, 3, 1, 4, 2))
    """
    size = len(ranks)
    for stride in strides:
        if math.gcd(stride, size) != 1:
            raise InvalidInput(
                f"strides: {stride} and {size} ranks have a factor in common, so it is no ring"
            )
    return tuple(tuple(ranks[place * stride % size] for place in range(size)) for stride in strides)


def checked_rings(rings: Sequence[Sequence[int]]) -> Rings:
    """Return rings that can share an AllReduce.

    Raises
    ------
    InvalidInput
        If there is none, one comes by a rank twice, or they are not of the same ranks.
    """
    checked = tuple(tuple(int(rank) for rank in ring) for ring in rings)
    if not 0 < len(checked) <= MOST_RINGS:
        raise InvalidInput(f"rings: expected 1..{MOST_RINGS} of them, got {len(checked)}")
    for number, ring in enumerate(checked):
        if not ring or len(set(ring)) < len(ring):
            raise InvalidInput(f"rings: expected each rank once in ring {number}, got {list(ring)}")
        if set(ring) != set(checked[0]):
            raise InvalidInput(f"rings: ring {number} has other ranks than ring 0; give all the same ones")
    return checked
