"""The noun RankTraffic: what ranks and servers send each other in one iteration, as tables and matrices."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.schema.files import write_atomically
from topoopt.transformers.communication.message import KINDS, Communication, wire_factor
from topoopt.transformers.communication.traffic_matrix import rank_matrix, server_matrix, server_traffic
from topoopt.transformers.configuration import Configuration
from topoopt.workloads import Traffic
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, slots=True)
class RankRow:
    """Equal messages that one rank takes part in.

    Attributes
    ----------
    size : int
        Ranks of the group.
    message_bytes, count : int
        As of :class:`~topoopt.transformers.Communication`, ``count`` over all parts of the model in one iteration; of a
        ``send`` what is received, too.
    sent_bytes : float
        What leaves the rank.
    parts : tuple of str
        Which parts of the model these are.
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
        Of the messages.
    count : int
        Messages of all groups in one iteration.
    wire_bytes, network_bytes : float
        What leaves ranks, and of that what leaves servers.
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
        Which degree numbers ranks fastest, and so on.
    loads : str or None
        Of experts, as :func:`~topoopt.transformers.find_loads` reads them; None for even ones.
    iteration : int
        At which the loads are taken.
    sent : tuple of Communication
    places : int64 array, shape (ranks,)
        The server of each rank.
    by : str
        What the matrices are of: ``server``, ``rank`` or ``kind``.
    estimator, framework : str
        As whom it is counted: ``calibrated`` or ``apnet24``, and one of :data:`~topoopt.transformers.FRAMEWORKS`.
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
        """Return what rank 0 takes part in."""
        return rank_rows(self.sent)

    def kinds(self) -> tuple[KindRow, ...]:
        """Return what all ranks send, by kind."""
        return kind_rows(self.sent, self.places)

    def traffic(self) -> Traffic:
        """Return what servers send each other when collectives are hierarchical."""
        return server_traffic(self.sent, self.places)

    def matrices(self) -> dict[str, Floats]:
        """Return the matrices by name: one of servers, one of ranks, or one of servers for each kind with traffic.

        Bytes that stay inside a server are left out.
        """
        if self.by == "rank":
            return {"rank": rank_matrix(self.sent, len(self.places))}
        if self.by == "server":
            return {"server": _between(server_matrix(self.sent, self.places))}
        matrices = {kind: _between(server_matrix(self.sent, self.places, [kind])) for kind in KINDS}
        return {kind: matrix for kind, matrix in matrices.items() if matrix.any()}

    def to_frame(self) -> Frame:
        """Return what all ranks send, by kind, as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(asdict(row) for row in self.kinds())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values; bytes are of one iteration."""
        one, demand = self.configuration, self.traffic()
        return {
            "model": self.model.name,
            "accelerators": one.accelerators,
            "servers": self.servers,
            "configuration": asdict(one),
            "micro_batches": one.micro_batches,
            "estimator": self.estimator,
            "framework": self.framework,
            "order": self.order,
            "loads": self.loads,
            "iteration": self.iteration,
            "first_stage": [{**asdict(row), "parts": list(row.parts)} for row in self.first_stage()],
            "kinds": [asdict(row) for row in self.kinds()],
            "server_traffic": {
                "allreduce_bytes": demand.allreduce_bytes,
                "allreduce_wire_bytes": demand.allreduce_wire_bytes,
                "mp_bytes": demand.mp_bytes,
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
    """Return what a rank takes part in, in the order of :data:`~topoopt.transformers.KINDS`, most bytes first."""
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
    """Return what all ranks send, by kind, collective and size of the group.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As of :func:`~topoopt.transformers.place_ranks`.
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
