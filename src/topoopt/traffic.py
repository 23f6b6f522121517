"""What must move in one training iteration: AllReduce groups, all-to-all groups, transfers.

AllReduce traffic is *mutable*: any order of the ring, or a split over several rings, is still correct.
Transfers and all-to-all exchanges (together: model-parallel, MP, traffic) are not (TopoOpt section 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class AllReduceGroup:
    """``size_bytes`` of gradients summed over ``members`` (server numbers, sorted)."""

    members: tuple[int, ...]
    size_bytes: int

    @property
    def wire_bytes(self) -> float:
        """Bytes that a bandwidth-optimal AllReduce puts on the wire in the whole group: 2(g-1)·M."""
        return 2.0 * (len(self.members) - 1) * self.size_bytes


@dataclass(frozen=True, slots=True)
class AllToAllGroup:
    """Every ordered pair of distinct ``members`` exchanges ``bytes_per_pair``."""

    members: tuple[int, ...]
    bytes_per_pair: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """``size_bytes`` from server ``src`` to server ``dst``."""

    src: int
    dst: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """All traffic of one iteration of one job on servers ``0 .. servers-1``.

    AllReduce groups with equal members are merged; transfers with equal ends are merged. Groups are in
    descending order of wire bytes, transfers in order of (src, dst).
    """

    servers: int
    allreduce: tuple[AllReduceGroup, ...] = ()
    alltoall: tuple[AllToAllGroup, ...] = ()
    transfers: tuple[Transfer, ...] = ()

    @property
    def allreduce_bytes(self) -> int:
        """Sum of the gradient bytes M over the groups."""
        return sum(group.size_bytes for group in self.allreduce)

    @property
    def allreduce_wire_bytes(self) -> float:
        """Sum of 2(g-1)·M over the groups."""
        return sum(group.wire_bytes for group in self.allreduce)

    @property
    def mp_bytes(self) -> int:
        """Sum over all ordered pairs of the model-parallel bytes."""
        pairs = sum(len(g.members) * (len(g.members) - 1) * g.bytes_per_pair for g in self.alltoall)
        return pairs + sum(transfer.size_bytes for transfer in self.transfers)

    def mp_matrix(self) -> NDArray[np.float64]:
        """Return the model-parallel bytes of each ordered pair, shape (servers, servers)."""
        matrix = np.zeros((self.servers, self.servers))
        for group in self.alltoall:
            members = np.asarray(group.members)
            matrix[np.ix_(members, members)] += group.bytes_per_pair
        for transfer in self.transfers:
            matrix[transfer.src, transfer.dst] += transfer.size_bytes
        np.fill_diagonal(matrix, 0.0)
        return matrix


def merged_traffic(
    servers: int,
    allreduce: Sequence[AllReduceGroup],
    alltoall: Sequence[AllToAllGroup] = (),
    transfers: Sequence[Transfer] = (),
) -> Traffic:
    """Return the traffic with equal groups and equal pairs summed, idle ones dropped, in canonical order."""
    groups: dict[tuple[int, ...], int] = {}
    for group in allreduce:
        if len(group.members) > 1 and group.size_bytes > 0:
            groups[group.members] = groups.get(group.members, 0) + group.size_bytes
    exchanges: dict[tuple[int, ...], int] = {}
    for exchange in alltoall:
        if len(exchange.members) > 1 and exchange.bytes_per_pair > 0:
            exchanges[exchange.members] = exchanges.get(exchange.members, 0) + exchange.bytes_per_pair
    pairs: dict[tuple[int, int], int] = {}
    for transfer in transfers:
        if transfer.src != transfer.dst and transfer.size_bytes > 0:
            key = (transfer.src, transfer.dst)
            pairs[key] = pairs.get(key, 0) + transfer.size_bytes
    summed = [AllReduceGroup(members, size) for members, size in groups.items()]
    return Traffic(
        servers,
        tuple(sorted(summed, key=lambda g: (-g.wire_bytes, g.members))),
        tuple(AllToAllGroup(members, size) for members, size in sorted(exchanges.items())),
        tuple(Transfer(src, dst, size) for (src, dst), size in sorted(pairs.items())),
    )


def traffic_from_matrix(matrix: NDArray[np.float64], place: str = "traffic matrix") -> Traffic:
    """Return pure model-parallel traffic from bytes per ordered pair; the diagonal is ignored.

    Raises
    ------
    InvalidInput
        If the matrix is not square, smaller than 2×2, or holds a negative or non-finite number.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        shape = "×".join(str(size) for size in matrix.shape)
        raise InvalidInput(f"{place}: expected a square matrix of at least 2×2, got {shape}")
    bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        value = matrix[row, column]
        raise InvalidInput(f"{place}: row {row}, column {column}: bytes must be >= 0 and finite, got {value}")
    rows, columns = np.nonzero(matrix)
    transfers = [
        Transfer(int(i), int(j), round(matrix[i, j])) for i, j in zip(rows, columns, strict=True) if i != j
    ]
    return merged_traffic(matrix.shape[0], (), (), transfers)
