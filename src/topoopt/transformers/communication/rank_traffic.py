"""RankTraffic: traffic between ranks and between servers in one iteration, as tables and matrices."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import write_atomically
from topoopt.transformers.communication.message import KINDS, Communication, wire_factor
from topoopt.transformers.configuration import Configuration
from topoopt.workloads import RING_PASSES, AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic
from topoopt.workloads.transformer import TransformerModel

LARGEST_MATRIX = 8192
"""Rows; the matrix takes 512 MiB."""


@dataclass(frozen=True, slots=True)
class RankRow:
    """Equal messages that one rank takes part in.

    Attributes
    ----------
    size : int
        Ranks of the group.
    message_bytes, count : int
        See :class:`~topoopt.transformers.Communication`, ``count`` over all parts of the model in one iteration;
        for a ``send`` it includes received messages.
    sent_bytes : float
        Bytes that leave the rank.
    """

    kind: str
    collective: str
    size: int
    message_bytes: int
    count: int
    sent_bytes: float
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KindRow:
    """All that the ranks send with one collective for one reason.

    Attributes
    ----------
    groups : int
        Different groups.
    size : int
    smallest_bytes, largest_bytes : int
        Range of message sizes.
    count : int
        Messages of all groups in one iteration.
    wire_bytes, network_bytes : float
        Bytes that leave ranks, and the part that leaves servers.
    """

    kind: str
    collective: str
    groups: int
    size: int
    smallest_bytes: int
    largest_bytes: int
    count: int
    wire_bytes: float
    network_bytes: float


@shows_itself
@dataclass(frozen=True, eq=False)
class RankTraffic:
    """The communication of a configuration on servers.

    Attributes
    ----------
    order : str
        Order of the degrees in which ranks are numbered, fastest first.
    loads : str or None
        Loads of experts, as read by :func:`~topoopt.transformers.find_loads`; None for even ones.
    iteration : int
        Iteration of the loads.
    sent : tuple of Communication
    places : int64 array, shape (ranks,)
        The server of each rank.
    by : str
        Grouping of the matrices: ``server``, ``rank`` or ``kind``.
    estimator, framework : str
        Model of the communication: ``calibrated`` or ``apnet24``, and one of
        :data:`~topoopt.transformers.FRAMEWORKS`.
    """

    model: TransformerModel
    configuration: Configuration
    order: str
    loads: str | None
    iteration: int
    sent: tuple[Communication, ...]
    places: Ints
    by: str = "server"
    estimator: str = "calibrated"
    framework: str = "megatron"

    @property
    def servers(self) -> int:
        """Servers that the ranks take."""
        return int(self.places.max()) + 1

    def first_stage(self) -> tuple[RankRow, ...]:
        """Return the messages of rank 0."""
        return rank_rows(self.sent)

    def kinds(self) -> tuple[KindRow, ...]:
        """Return the traffic of all ranks, by kind."""
        return kind_rows(self.sent, self.places)

    def traffic(self) -> Traffic:
        """Return the traffic between servers, with hierarchical collectives."""
        return server_traffic(self.sent, self.places)

    def matrices(self) -> dict[str, Floats]:
        """Return the matrices by name: one of servers, one of ranks, or one of servers for each kind with traffic.

        Bytes that stay inside a server are omitted.
        """
        if self.by == "rank":
            return {"rank": rank_matrix(self.sent, len(self.places))}
        if self.by == "server":
            return {"server": _between(server_matrix(self.sent, self.places))}
        matrices = {kind: _between(server_matrix(self.sent, self.places, [kind])) for kind in KINDS}
        return {kind: matrix for kind, matrix in matrices.items() if matrix.any()}

    def to_frame(self) -> Frame:
        """Return the traffic of all ranks by kind as a pandas table."""
        return frame(asdict(row) for row in self.kinds())

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping; bytes are per iteration."""
        one, demand = self.configuration, self.traffic()
        return {
            "model": self.model.name,
            "accelerators": one.accelerators,
            "servers": self.servers,
            "configuration": asdict(one),
            "micro_batches": one.micro_batches,
            **fields_of(self, "estimator", "framework", "order", "loads", "iteration"),
            "first_stage": [{**asdict(row), "parts": list(row.parts)} for row in self.first_stage()],
            "kinds": [asdict(row) for row in self.kinds()],
            "server_traffic": {
                **fields_of(demand, "allreduce_bytes", "allreduce_wire_bytes", "mp_bytes"),
                "allreduce_groups": [
                    {"members": list(group.members), "bytes": group.size_bytes} for group in demand.allreduce
                ],
                "alltoall_groups": [
                    {"members": list(group.members), "bytes_per_pair": group.bytes_per_pair}
                    for group in demand.alltoall
                ],
            },
            "by": self.by,
            "matrix_bytes": {name: matrix.round().tolist() for name, matrix in self.matrices().items()},
        }

    def write_csv(self, path: str | Path) -> None:
        """Write one square matrix, or by kind rows of kind, source, destination and bytes.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        matrices = self.matrices()
        if self.by != "kind":
            [matrix] = matrices.values()
            lines = [",".join(map(str, row)) for row in matrix.round().astype("int64").tolist()]
        else:
            lines = ["kind,src,dst,bytes"]
            for kind, matrix in matrices.items():
                for src, dst in zip(*(index.tolist() for index in matrix.nonzero()), strict=True):
                    lines.append(f"{kind},{src},{dst},{round(float(matrix[src, dst]))}")
        write_atomically(path, "\n".join(lines) + "\n")


def _between(matrix: Floats) -> Floats:
    np.fill_diagonal(matrix, 0.0)
    return matrix


def rank_rows(communications: Iterable[Communication], rank: int = 0) -> tuple[RankRow, ...]:
    """Return the messages of a rank, in the order of :data:`~topoopt.transformers.KINDS`, most bytes first."""
    sums: dict[tuple[str, str, int, int], tuple[int, float, dict[str, None]]] = {}
    for one in communications:
        places = np.argwhere(one.groups == rank)
        if not len(places):
            continue
        key = (one.kind, one.collective, one.groups.shape[1], one.message_bytes)
        count, sent, parts = sums.get(key, (0, 0.0, {}))
        more = sum(_sent_share(one, int(place)) for _, place in places) * one.message_bytes * one.count
        sums[key] = (count + one.count * len(places), sent + more, {**parts, one.part: None})
    rows = (RankRow(*key, count, sent, tuple(parts)) for key, (count, sent, parts) in sums.items())
    return tuple(sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.sent_bytes, -row.message_bytes)))


def kind_rows(communications: Iterable[Communication], servers_of_rank: Ints) -> tuple[KindRow, ...]:
    """Return the traffic of all ranks, by kind, collective and size of the group.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As returned by :func:`~topoopt.transformers.place_ranks`.
    """
    alike: dict[tuple[str, str, int], list[Communication]] = {}
    for one in communications:
        alike.setdefault((one.kind, one.collective, one.groups.shape[1]), []).append(one)
    rows = (_kind_row(*key, some, servers_of_rank) for key, some in alike.items())
    return tuple(sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.wire_bytes, row.collective)))


def _kind_row(
    kind: str, collective: str, size: int, some: list[Communication], servers_of_rank: Ints
) -> KindRow:
    matrix = server_matrix(some, servers_of_rank)
    groups = {group for one in some for group in map(bytes, one.groups)}
    sizes = [one.message_bytes for one in some]
    return KindRow(
        kind=kind,
        collective=collective,
        groups=len(groups),
        size=size,
        smallest_bytes=min(sizes),
        largest_bytes=max(sizes),
        count=sum(one.count * len(one.groups) for one in some),
        wire_bytes=sum(one.wire_bytes for one in some),
        network_bytes=float(matrix.sum() - np.trace(matrix)),
    )


def _sent_share(one: Communication, place: int) -> float:
    """Return the bytes that leave the member at a place of its group, over ``message_bytes``."""
    if one.collective == "all-to-all":
        weights = one.rank_weights
        return float(weights[place].sum() - weights[place, place])
    size = one.groups.shape[1]
    if one.collective == "send":
        return float(place == 0)
    return wire_factor(one.collective, size, one.weights) / float(size)


def rank_matrix(communications: Iterable[Communication], ranks: int) -> Floats:
    """Return the bytes from each rank to each in one iteration, shape (ranks, ranks).

    Rings run in the order of a group's members: an AllReduce of S bytes among n puts 2(n-1)/n·S on each directed pair
    of neighbors, all-gather and reduce-scatter half of it.

    Raises
    ------
    InvalidInput
        If there are more than :data:`LARGEST_MATRIX` ranks.
    """
    return server_matrix(communications, np.arange(ranks))


def server_matrix(
    communications: Iterable[Communication], servers_of_rank: Ints, kinds: Collection[str] = KINDS
) -> Floats:
    """Return the bytes from each server to each, shape (servers, servers): the matrix of ranks, added up.

    Traffic among ranks of a server is on the diagonal; a token that goes to a server of its experts once, counts once.
    Rings are those of ranks, so that one may leave and enter a server several times; see
    :func:`~topoopt.transformers.server_traffic` for collectives that first add up inside.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As returned by :func:`~topoopt.transformers.place_ranks`.
    """
    servers = int(servers_of_rank.max()) + 1
    if servers > LARGEST_MATRIX:
        raise InvalidInput(
            f"matrix: {servers} rows would not fit into memory; at most {LARGEST_MATRIX}: "
            "ask for servers instead of ranks, or for more accelerators per server"
        )
    matrix = np.zeros((servers, servers))
    for one in communications:
        if one.kind not in kinds:
            continue
        if one.routing is not None:
            add_exchanges(matrix, one, servers_of_rank)
        else:
            for src, dst, size_bytes in rank_pairs(one):
                np.add.at(matrix, (servers_of_rank[src], servers_of_rank[dst]), size_bytes)
    return matrix


def add_exchanges(matrix: Floats, one: Communication, servers_of_rank: Ints) -> None:
    """Add the traffic between servers of an all-to-all, group by group."""
    total = float(one.message_bytes) * one.count
    for row in servers_of_rank[one.groups]:
        members, index = np.unique(row, return_inverse=True)
        matrix[np.ix_(members, members)] += total * one.server_weights(index)


def rank_pairs(one: Communication) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield source and destination ranks, each pair of a group's members that talk in turn, and the bytes."""
    groups, size = one.groups, one.groups.shape[1]
    total = float(one.message_bytes) * one.count
    if one.collective == "all-to-all":
        between = total * one.rank_weights
        np.fill_diagonal(between, 0.0)
        src, dst = np.nonzero(between)
        yield groups[:, src], groups[:, dst], np.broadcast_to(between[src, dst], (len(groups), len(src)))
    elif one.collective == "send":
        yield groups[:, 0], groups[:, 1], np.full(len(groups), total)
    else:
        each = total * wire_factor(one.collective, size, one.weights) / size
        yield groups, np.roll(groups, -1, axis=1), np.full(groups.shape, each)


def server_traffic(communications: Iterable[Communication], servers_of_rank: Ints) -> Traffic:
    """Return the traffic between servers in one iteration, without that inside servers.

    Collectives are hierarchical: ranks of a server that reduce with the same other servers sum inside first (or
    have their bytes added, where they are of different groups). All-to-alls with even loads and as many ranks on
    every server stay groups; others, and sends to one rank, are transfers. An all-gather or reduce-scatter of S
    counts as an AllReduce of S/2, with the same bytes on the wire.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As returned by :func:`~topoopt.transformers.place_ranks`.
    """
    servers = int(servers_of_rank.max()) + 1
    rings: Counter[tuple[int, ...]] = Counter()
    exchanges: list[AllToAllGroup] = []
    sent = np.zeros((servers, servers))
    for one in communications:
        total = one.message_bytes * one.count
        if one.collective in RING_PASSES:
            for members, groups in _member_sets(servers_of_rank[one.groups]).items():
                rings[members] += RING_PASSES[one.collective] * total * groups
            continue
        alike = _even_exchanges(one, servers_of_rank)
        exchanges += [group for group in alike if group is not None and len(group.members) > 1]
        others = replace(one, groups=one.groups[[group is None for group in alike]])
        if one.collective == "all-to-all":
            add_exchanges(sent, others, servers_of_rank)
            continue
        for src, dst, size_bytes in rank_pairs(others):
            np.add.at(sent, (servers_of_rank[src], servers_of_rank[dst]), size_bytes)
    np.fill_diagonal(sent, 0.0)
    src, dst = np.nonzero(sent)
    transfers = Transfers(src, dst, np.rint(sent[src, dst]).astype(np.int64))
    groups_of_servers = [AllReduceGroup(members, twice // 2) for members, twice in rings.items()]
    return merged_traffic(servers, groups_of_servers, exchanges, transfers)


def _member_sets(places: Ints) -> Counter[tuple[int, ...]]:
    """Return the servers of each group that spans several, and how many groups have just these."""
    rows, groups = np.unique(np.sort(places, axis=1), axis=0, return_counts=True)
    counts: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(rows.tolist(), groups.tolist(), strict=True):
        members = tuple(dict.fromkeys(row))
        if len(members) > 1:
            counts[members] += count
    return counts


def _even_exchanges(one: Communication, servers_of_rank: Ints) -> list[AllToAllGroup | None]:
    """Return each group of an all-to-all of servers; None for uneven ones and other collectives."""
    if one.collective != "all-to-all" or float(np.ptp(one.weights)) > 0.0:
        return [None] * len(one.groups)
    total = float(one.message_bytes * one.count)
    groups: list[AllToAllGroup | None] = []
    for row in servers_of_rank[one.groups]:
        members, index, ranks = np.unique(row, return_inverse=True, return_counts=True)
        pair = 0 if len(members) == 1 else round(total * float(one.server_weights(index)[0, 1]))
        even = int(np.ptp(ranks)) == 0
        groups.append(AllToAllGroup(tuple(members.tolist()), pair) if even else None)
    return groups
