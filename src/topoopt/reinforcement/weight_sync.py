"""Weight transfer from training to rollout, and its bytes between servers: by shard, around a ring, or down a tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf

import numpy as np
from pydantic import TypeAdapter

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import check_known
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.inference import Parallelism
from topoopt.reinforcement.shards import (
    Shards,
    missing_bytes,
    nested_shards,
    point_to_point,
    rollout_shards,
    training_shards,
)
from topoopt.schema.files import packaged_rows
from topoopt.transformers import Configuration
from topoopt.workloads.transformer import TransformerModel, count_parameters


@dataclass(frozen=True, slots=True, eq=False)
class WeightMove:
    """Weights to be moved from training to rollout accelerators.

    Attributes
    ----------
    parts : tuple of (float, Shards, Shards)
        Bytes of weights with one split, with their present and future shards: all but the experts, and the experts.
    servers_of_held, servers_of_needed : arrays (accelerators,) of int
        Servers of training and of rollout accelerators; the same ones where they take turns.
    servers : int
        Servers of all pools.
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
    """Traffic of one method of weight transfer.

    Attributes
    ----------
    way : str
        One of :data:`WAYS`.
    server_bytes : array (servers, servers) of float
        Bytes between servers, without transfers inside one.
    accelerator_bytes : float
        Most bytes received by an accelerator: all of its new shard, or with in-place transfer the missing part of
        it.
    rounds : int
        Sends that have to follow each other before the last server has its first byte.
    """

    way: str
    server_bytes: Floats
    accelerator_bytes: float
    rounds: int

    @property
    def busiest_bytes(self) -> float:
        """Bytes sent or received by the busiest server: over its bandwidth, a lower bound on any network."""
        return float(max(self.server_bytes.sum(axis=0).max(), self.server_bytes.sum(axis=1).max()))

    @property
    def total_bytes(self) -> float:
        """All servers together."""
        return float(self.server_bytes.sum())


def weight_traffic(move: WeightMove, way: str) -> WeightTraffic:
    """Return the traffic between servers; within one, accelerators share weights that arrived once.

    Raises
    ------
    InvalidInput
        For an unknown method.
    """
    check_known("sync", way, WAYS)
    matrix, rounds = WAYS[way](move)
    np.fill_diagonal(matrix, 0.0)
    if not move.is_in_place:
        accelerator_bytes = sum(size / (needed.stages * needed.slices) for size, _, needed in move.parts)
    else:
        lacking = [missing_bytes(held, needed, size) for size, held, needed in move.parts]
        accelerator_bytes = float(np.sum(lacking, axis=0).max())
    return WeightTraffic(way, matrix, accelerator_bytes, rounds)


def _by_shard(move: WeightMove) -> tuple[Floats, int]:
    """Every accelerator gets each piece of its shard from one that holds it."""
    matrix = np.zeros((move.servers, move.servers))
    for size, held, needed in move.parts:
        matrix += point_to_point(
            held, needed, size, move.servers_of_held, move.servers_of_needed, move.servers
        )
    return matrix, 1


def _ring(move: WeightMove) -> tuple[Floats, int]:
    """The message grows along the training servers, each adding its share, and continues around the rollout servers."""
    senders, others = _ends(move)
    matrix = np.zeros((move.servers, move.servers))
    line = [*senders, *others]
    for place, (src, dst) in enumerate(pairwise(line)):
        matrix[src, dst] += move.size_bytes * min(1.0, (place + 1) / len(senders))
    return matrix, len(line) - 1


def _tree(move: WeightMove) -> tuple[Floats, int]:
    """One training server gathers everything and sends it to two, each of which sends it to two more."""
    senders, others = _ends(move)
    matrix = np.zeros((move.servers, move.servers))
    for src in senders[1:]:
        matrix[src, senders[0]] += move.size_bytes / len(senders)
    line = [senders[0], *others]
    for place, dst in enumerate(line[1:]):
        matrix[line[place // 2], dst] += move.size_bytes
    return matrix, 1 + max(len(others), 1).bit_length()


def _ends(move: WeightMove) -> tuple[list[int], list[int]]:
    """Return the servers that together hold one copy, and the other servers that need weights."""
    copies = move.parts[0][1].holders()[:, :, 0]
    senders = sorted(set(move.servers_of_held[copies.ravel()].tolist()))
    return senders, sorted(set(move.servers_of_needed.tolist()) - set(senders))


WAYS: Mapping[str, Callable[[WeightMove], tuple[Floats, int]]] = {
    "shards": _by_shard,
    "ring": _ring,
    "tree": _tree,
}
"""Ways of bringing weights from training to rollout."""


@dataclass(frozen=True, slots=True)
class Places:
    """Placement of the pools: training first, then rollout, or both on the same accelerators.

    Attributes
    ----------
    training, rollout : int
        Accelerators of each.
    accelerators_per_server : int
    disjoint : bool
    """

    training: int
    rollout: int
    accelerators_per_server: int
    disjoint: bool

    @property
    def servers_of_training(self) -> Ints:
        """The server of each that trains."""
        return np.arange(self.training) // self.accelerators_per_server

    @property
    def servers_of_rollout(self) -> Ints:
        """The server of each that answers."""
        first = self.training if self.disjoint else 0
        return (first + np.arange(self.rollout)) // self.accelerators_per_server

    @property
    def servers(self) -> int:
        """Servers of all pools."""
        return int(max(self.servers_of_training[-1], self.servers_of_rollout[-1])) + 1


def weight_bytes(model: TransformerModel, precision: str) -> tuple[float, float]:
    """Return the bytes of all parameters but those of experts, and of these, in the rollout's precision.

    Who sends 8 bits casts before.
    """
    count = count_parameters(model)
    each = BYTES_PER_ELEMENT[precision]
    return (count.total - count.experts) * each, count.experts * each


def weight_moves(
    model: TransformerModel,
    precision: str,
    training: Configuration,
    rollout: Parallelism,
    replicas: int,
    places: Places,
) -> tuple[WeightMove, ...]:
    """Return the moves that are possible: replicas of neighbors, and in place also of those whose shards nest."""
    dense_bytes, expert_bytes = weight_bytes(model, precision)
    sizes = [(dense_bytes, False)] + [(expert_bytes, True)] * (expert_bytes > 0)
    held = [training_shards(training, of_experts) for _, of_experts in sizes]
    plain = [rollout_shards(rollout, replicas, of_experts) for _, of_experts in sizes]
    choices = [plain]
    if not places.disjoint:
        nested = [nested_shards(mine, one.stages, one.slices) for mine, one in zip(held, plain, strict=True)]
        whole = [one for one in nested if one is not None]
        choices += [whole] * (len(whole) == len(held))
    return tuple(_move(sizes, held, needed, places) for needed in choices)


def _move(
    sizes: list[tuple[float, bool]], held: list[Shards], needed: list[Shards], places: Places
) -> WeightMove:
    parts = tuple((size, mine, wanted) for (size, _), mine, wanted in zip(sizes, held, needed, strict=True))
    return WeightMove(parts, places.servers_of_training, places.servers_of_rollout, places.servers)


GATHERED_AT_ONCE, BY_MATRIX = "gloo", "gloo-by-matrix"


@dataclass(frozen=True, slots=True)
class WeightTransport:
    """Speed at which software loads weights, whatever the network.

    Attributes
    ----------
    fixed_s : float
        Handshakes, metadata, waking the engine.
    bytes_per_s : float
        Rate at which all weights together are loaded; infinite where only the network limits it.
    note : str
        Measurement that it is based on, with the number of rows.
    """

    name: str
    fixed_s: float
    bytes_per_s: float
    note: str

    @property
    def by_network(self) -> bool:
        """Whether its time depends on the network only."""
        return self.bytes_per_s == inf

    def software_s(self, size_bytes: float) -> float:
        """Return the seconds on a network that costs nothing."""
        return self.fixed_s + size_bytes / self.bytes_per_s

    def sync_s(self, size_bytes: float, network_s: float) -> float:
        """Return the transfer time, given the network's time: loading overlaps with the transfer."""
        return self.fixed_s + max(size_bytes / self.bytes_per_s, network_s)


@cache
def weight_transports() -> dict[str, WeightTransport]:
    """Return the known ones by name."""
    rows = packaged_rows("reinforcement", "weight_transports")
    return {one.name: one for one in TypeAdapter(list[WeightTransport]).validate_python(rows)}


def find_weight_transport(name: str) -> WeightTransport:
    """Return the transport of this name; an unknown one is an :class:`InvalidInput` with the nearest."""
    check_known("transport", name, weight_transports())
    return weight_transports()[name]


def transport_for(name: str, size_bytes: float, memory_bytes: float) -> WeightTransport:
    """Return the transport that applies to weights of a size.

    Over gloo all of them are gathered at once where one accelerator has room for that, else matrix by matrix.
    """
    if name == GATHERED_AT_ONCE and size_bytes > memory_bytes:
        return find_weight_transport(BY_MATRIX)
    return find_weight_transport(name)


def least_network_s(traffic: WeightTraffic, server_bandwidth_bps: float, latency_s: float) -> float:
    """Return the seconds on a network that gives every server all of its bandwidth to anybody."""
    if not traffic.busiest_bytes:  # all of it stays in servers
        return 0.0
    return traffic.busiest_bytes * 8 / server_bandwidth_bps + traffic.rounds * latency_s
