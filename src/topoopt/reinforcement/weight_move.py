"""How weights get from training to rollout: shard by shard, round a ring, or down a tree; bytes between servers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import check_known
from topoopt.reinforcement.shards import Shards, missing_bytes, point_to_point


@dataclass(frozen=True, slots=True, eq=False)
class WeightMove:
    """Weights that are to be brought from those that train to those that answer.

    Attributes
    ----------
    parts : tuple of (float, Shards, Shards)
        Bytes of what is split alike, who holds them and who needs them: all but the experts, and the experts.
    servers_of_held, servers_of_needed : arrays (accelerators,) of int
        Of those that train and of those that answer; the same ones where they take turns.
    servers : int
        Of all together.
    """

    parts: tuple[tuple[float, Shards, Shards], ...]
    servers_of_held: Ints
    servers_of_needed: Ints
    servers: int

    @property
    def size_bytes(self) -> float:
        """All weights once, as they are sent."""
        return sum(size for size, _, _ in self.parts)

    @property
    def is_in_place(self) -> bool:
        """Whether the same accelerators train and answer."""
        return len(self.servers_of_held) == len(self.servers_of_needed) and bool(
            (self.servers_of_held == self.servers_of_needed).all()
        )


@dataclass(frozen=True, slots=True, eq=False)
class WeightTraffic:
    """What a way of bringing weights sends.

    Attributes
    ----------
    way : str
        One of :data:`WAYS`.
    server_bytes : array (servers, servers) of float
        From server to server, without what stays inside one.
    accelerator_bytes : float
        What an accelerator gets at most, whoever sends it: all of its new shard, or in place what it lacks of it.
    rounds : int
        Sends that have to follow each other before the last server has its first byte.
    """

    way: str
    server_bytes: Floats
    accelerator_bytes: float
    rounds: int

    @property
    def busiest_bytes(self) -> float:
        """What the busiest server sends or hears: over its bandwidth, the least time on any network."""
        return float(max(self.server_bytes.sum(axis=0).max(), self.server_bytes.sum(axis=1).max()))

    @property
    def total_bytes(self) -> float:
        """All servers together."""
        return float(self.server_bytes.sum())


def weight_traffic(move: WeightMove, way: str) -> WeightTraffic:
    """Return what is sent between servers; within one, accelerators hand on what came once.

    Raises
    ------
    InvalidInput
        For an unknown way.
    """
    check_known("sync", way, WAYS)
    matrix, rounds = WAYS[way](move)
    np.fill_diagonal(matrix, 0.0)
    return WeightTraffic(way, matrix, _accelerator_bytes(move), rounds)


def _accelerator_bytes(move: WeightMove) -> float:
    if not move.is_in_place:
        return sum(size / (needed.stages * needed.slices) for size, _, needed in move.parts)
    lacking = [missing_bytes(held, needed, size) for size, held, needed in move.parts]
    return float(np.sum(lacking, axis=0).max())


def _by_shard(move: WeightMove) -> tuple[Floats, int]:
    """Every accelerator gets each piece of its shard from one that holds it."""
    matrix = np.zeros((move.servers, move.servers))
    for size, held, needed in move.parts:
        matrix += point_to_point(
            held, needed, size, move.servers_of_held, move.servers_of_needed, move.servers
        )
    return matrix, 1


def _ring(move: WeightMove) -> tuple[Floats, int]:
    """What passes grows along the servers that train, each adding its share, and goes on round those that answer."""
    senders, others = _ends(move)
    matrix = np.zeros((move.servers, move.servers))
    line = [*senders, *others]
    for place, (src, dst) in enumerate(pairwise(line)):
        matrix[src, dst] += move.size_bytes * min(1.0, (place + 1) / len(senders))
    return matrix, len(line) - 1


def _tree(move: WeightMove) -> tuple[Floats, int]:
    """One server that trains gathers all, and sends it to two, each of which sends it to two more."""
    senders, others = _ends(move)
    matrix = np.zeros((move.servers, move.servers))
    for src in senders[1:]:
        matrix[src, senders[0]] += move.size_bytes / len(senders)
    line = [senders[0], *others]
    for place, dst in enumerate(line[1:]):
        matrix[line[place // 2], dst] += move.size_bytes
    return matrix, 1 + max(len(others), 1).bit_length()


def _ends(move: WeightMove) -> tuple[list[int], list[int]]:
    """Return the servers that hold one copy of all together, and those that need weights and are not among them."""
    copies = move.parts[0][1].holders()[:, :, 0]
    senders = sorted(set(move.servers_of_held[copies.ravel()].tolist()))
    return senders, sorted(set(move.servers_of_needed.tolist()) - set(senders))


WAYS: Mapping[str, Callable[[WeightMove], tuple[Floats, int]]] = {
    "shards": _by_shard,
    "ring": _ring,
    "tree": _tree,
}
"""Ways of bringing weights from training to rollout."""
