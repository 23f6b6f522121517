"""Traffic of one training iteration: AllReduce groups, all-to-all groups and transfers.

AllReduce traffic is *mutable*: any order of the ring, or a split over several rings, is still correct.
Transfers and all-to-all exchanges (together: model-parallel, MP, traffic) are not (TopoOpt section 3).
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Columns, Ints, numbered
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST
from topoopt.schema.files import csv_lines, decoding, read_bytes, read_text
from topoopt.workloads.ring_law import ring_rounds


@dataclass(frozen=True, slots=True)
class AllReduceGroup:
    """``size_bytes`` of gradients summed over ``members`` (server numbers, sorted)."""

    members: tuple[int, ...]
    size_bytes: int

    @property
    def wire_bytes(self) -> float:
        """Bytes that a bandwidth-optimal AllReduce puts on the wire in the whole group: 2(g-1)·M."""
        return float(ring_rounds("allreduce", len(self.members)) * self.size_bytes)


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


@dataclass(frozen=True, eq=False)
class Transfers(Columns):
    """Many transfers as columns, each of shape (transfers,) and dtype int64, in order of (src, dst).

    Iterating gives :class:`Transfer` rows. Make one with :func:`merged_transfers`.
    """

    src: Ints
    dst: Ints
    size_bytes: Ints

    def __iter__(self) -> Iterator[Transfer]:
        columns = zip(self.src.tolist(), self.dst.tolist(), self.size_bytes.tolist(), strict=True)
        return (Transfer(*row) for row in columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transfers) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def merged_transfers(src: Ints, dst: Ints, size_bytes: Ints) -> Transfers:
    """Return transfers with equal pairs summed, idle ones and those to oneself dropped, in order."""
    used = (src != dst) & (size_bytes > 0)
    src, dst, size_bytes = src[used], dst[used], size_bytes[used]
    width = int(max(src.max(), dst.max())) + 1 if len(src) else 1
    pairs, row = numbered(src * width + dst, width * width)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, row, size_bytes)  # exact, which float weights of bincount are not above 2**53 bytes
    return Transfers(pairs // width, pairs % width, total)


def no_transfers() -> Transfers:
    """Return an empty list of transfers."""
    nothing = np.zeros(0, np.int64)
    return Transfers(nothing, nothing, nothing)


@dataclass(frozen=True, slots=True)
class Traffic:
    """All traffic of one iteration of one job on servers ``0 .. servers-1``.

    AllReduce groups with equal members are merged; transfers with equal ends are merged. Groups are in
    descending order of wire bytes, transfers in order of (src, dst).
    """

    servers: int
    allreduce: tuple[AllReduceGroup, ...] = ()
    alltoall: tuple[AllToAllGroup, ...] = ()
    transfers: Transfers = field(default_factory=no_transfers)

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
        return pairs + int(self.transfers.size_bytes.sum())

    def mp_matrix(self) -> NDArray[np.float64]:
        """Return the model-parallel bytes of each ordered pair, shape (servers, servers)."""
        matrix = np.zeros((self.servers, self.servers))
        for group in self.alltoall:
            members = np.asarray(group.members)
            matrix[np.ix_(members, members)] += group.bytes_per_pair
        matrix[self.transfers.src, self.transfers.dst] += self.transfers.size_bytes
        np.fill_diagonal(matrix, 0.0)
        return matrix


def merged_traffic(
    servers: int,
    allreduce: Sequence[AllReduceGroup],
    alltoall: Sequence[AllToAllGroup] = (),
    transfers: Iterable[Transfer] | Transfers = (),
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
    summed = [AllReduceGroup(members, size) for members, size in groups.items()]
    if not isinstance(transfers, Transfers):
        rows = np.array([(t.src, t.dst, t.size_bytes) for t in transfers], np.int64).reshape(-1, 3)
        transfers = Transfers(*rows.T)
    return Traffic(
        servers,
        tuple(sorted(summed, key=lambda g: (-g.wire_bytes, g.members))),
        tuple(AllToAllGroup(members, size) for members, size in sorted(exchanges.items())),
        merged_transfers(transfers.src, transfers.dst, transfers.size_bytes),
    )


def with_pairs(traffic: Traffic) -> Traffic:
    """Return the traffic with all-to-all groups as transfers between the pairs of their members."""
    if not traffic.alltoall:
        return traffic
    matrix = traffic.mp_matrix()
    src, dst = np.nonzero(matrix)
    pairs = Transfers(src, dst, np.rint(matrix[src, dst]).astype(np.int64))
    return merged_traffic(traffic.servers, traffic.allreduce, (), pairs)


def traffic_from_matrix(matrix: NDArray[np.float64], place: str = "traffic matrix") -> Traffic:
    """Return pure model-parallel traffic from bytes per ordered pair; the diagonal is ignored.

    Raises
    ------
    InvalidInput
        If the matrix is not square, smaller than 2×2, or holds a negative number, one that is not finite, or one beyond
        :data:`~topoopt.base.limits.LARGEST`.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        shape = "×".join(str(size) for size in matrix.shape)
        raise InvalidInput(f"{place}: expected a square matrix of at least 2×2, got {shape}")
    bad = np.argwhere(~((matrix >= 0) & (matrix <= LARGEST)))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        value = matrix[row, column]
        raise InvalidInput(f"{place}: row {row}, column {column}: bytes must be >= 0 and finite, got {value}")
    src, dst = np.nonzero(matrix)
    size_bytes = np.rint(matrix[src, dst]).astype(np.int64)
    return merged_traffic(matrix.shape[0], (), (), Transfers(src, dst, size_bytes))


def read_traffic_matrix(path: str | Path) -> NDArray[np.float64]:
    """Return bytes per ordered pair of servers; lines of a CSV that start with ``#`` are skipped.

    The numbers are checked where they become traffic: ``traffic_from_matrix(read_traffic_matrix(path),
    str(path))`` refuses a matrix that is not square and bytes that are negative or not finite.

    Raises
    ------
    InvalidInput
        If the file is not a table of numbers, with the row and column.
    """
    return _from_npy(path) if Path(path).suffix.lower() == ".npy" else _from_csv(path)


def _from_npy(path: str | Path) -> NDArray[np.float64]:
    content = io.BytesIO(read_bytes(path))
    with decoding(path, "not a NumPy array file of plain numbers, or cut short", "save it again"):
        array = np.load(content, allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        kind = array.dtype if isinstance(array, np.ndarray) else "an archive of arrays"
        raise InvalidInput(f"{path}: expected an array of numbers, got {kind}")
    return array.astype(np.float64)


def _from_csv(path: str | Path) -> NDArray[np.float64]:
    lines = [line for line in read_text(path).splitlines() if line.strip() and not line.startswith("#")]
    rows = [row for _, row in csv_lines("\n".join(lines), str(path))]
    if not rows:
        raise InvalidInput(f"{path}: expected a square matrix of bytes, got an empty file")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidInput(
                f"{path}: row {number}: expected {len(rows[0])} cells as in row 0, got {len(row)}"
            )
    return np.array([[_number(path, r, c, cell) for c, cell in enumerate(row)] for r, row in enumerate(rows)])


def _number(path: str | Path, row: int, column: int, cell: str) -> float:
    try:
        return float("" if "_" in cell else cell)
    except ValueError:
        hint = "; a header row or column must go" if 0 in (row, column) else ""
        shown = cell if len(cell) <= 40 else cell[:37] + "..."
        raise InvalidInput(
            f'{path}: row {row}, column {column}: expected bytes, got "{shown}"{hint}'
        ) from None
