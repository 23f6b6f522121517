"""Schedule and Transfers: a collective as steps; each step lists sender, receiver and chunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from topoopt.base.arrays import Columns, Flags, Ints
from topoopt.base.errors import InvalidInput
from topoopt.topologies import Topology


class Send(NamedTuple):
    """One chunk from rank ``src`` to rank ``dst``, added to the receiver's copy or stored over it."""

    src: int
    dst: int
    chunk: int
    reduce: bool


Step = tuple[Send, ...]
"""Sends that happen at the same time, all reading the state before the step."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps with a barrier between them, on ranks ``0 .. ranks-1``.

    Attributes
    ----------
    name : str
        Name in :data:`topoopt.collectives.ALGORITHMS`.
    collective : str
        Result: ``allreduce`` (everyone has the sum of every chunk), ``reduce-scatter`` (rank r has the sum of the r-th
        part of the chunks), ``all-gather`` (everyone has the r-th part of every rank r) or ``all-to-all`` (rank d has
        chunk s·ranks + d of every rank s).
    chunks : int
        Equal pieces. Of an all-to-all, a rank's buffer holds ``ranks`` of them; of the others, all.
    """

    name: str
    collective: str
    ranks: int
    chunks: int
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if self.ranks < 2:
            raise InvalidInput(f"collective {self.name}: ranks must be >= 2, got {self.ranks}")

    @property
    def pieces(self) -> int:
        """Chunks in the buffer of one rank."""
        return self.ranks if self.collective == "all-to-all" else self.chunks


class MakeSchedule(Protocol):
    """One collective algorithm."""

    def __call__(self, ranks: int) -> Schedule:
        """Return the steps for ``ranks`` ranks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """An algorithm for one collective; its name is that of its file in ``collectives/algorithms``, with hyphens.

    Attributes
    ----------
    collective : str
        See :attr:`Schedule.collective`.
    schedules : tuple of function of ranks to Schedule
        Schedules between any ranks: one or, cut into more or fewer chunks, several.
    on_links : function of (Topology, members) to Transfers, optional
        In place of ``schedules``, the one made for the links among a group of servers, rank r the r-th member; None
        where its own links do not join the group, which then takes its rings.
    aliases : tuple of str
        Other names that users may write.
    compared : bool
        Whether ``topoopt collective`` compares it with others by default, and the choice ``auto`` of a plan.
    order : int
        Place in lists; algorithms of equal order are sorted by name.
    """

    collective: str
    schedules: tuple[MakeSchedule, ...] = ()
    on_links: Callable[[Topology, tuple[int, ...]], "Transfers | None"] | None = None
    aliases: tuple[str, ...] = ()
    compared: bool = True
    order: int = 1000


def relabel(schedule: Schedule, permutation: Sequence[int]) -> Schedule:
    """Return the schedule with rank i in the place of rank ``permutation[i]``.

    With ``permutation[i] = p·i mod n`` this embeds any algorithm along a ring of stride p (TopoOpt
    section 4.3). Only for AllReduce, whose postcondition names no rank.
    """
    assert schedule.collective == "allreduce", "the postcondition of the others names ranks"
    steps = tuple(
        tuple(send._replace(src=permutation[send.src], dst=permutation[send.dst]) for send in step)
        for step in schedule.steps
    )
    return Schedule(schedule.name, schedule.collective, schedule.ranks, schedule.chunks, steps)


def side_by_side(name: str, schedules: Sequence[Schedule]) -> Schedule:
    """Return schedules of one collective running at the same time, each on its own share of the chunks."""
    steps: list[Step] = []
    for index in range(max(len(schedule.steps) for schedule in schedules)):
        step: list[Send] = []
        offset = 0
        for schedule in schedules:
            if index < len(schedule.steps):
                step += [send._replace(chunk=send.chunk + offset) for send in schedule.steps[index]]
            offset += schedule.chunks
        steps.append(tuple(step))
    first = schedules[0]
    chunks = sum(schedule.chunks for schedule in schedules)
    return Schedule(name, first.collective, first.ranks, chunks, tuple(steps))


MOST_RANKS = 1_024
"""Schedules of more ranks have tens of millions of sends."""


@dataclass(frozen=True, eq=False)
class Moves(Columns):
    """Transfers of a collective, by rows in order of their steps.

    Attributes
    ----------
    step, src, dst, chunks : int64 arrays, shape (transfers,)
        Steps count from 0 without a gap; ends are ranks, or servers once they are known.
    pieces : int
        Chunks in the buffer of one rank.
    """

    step: Ints
    src: Ints
    dst: Ints
    chunks: Ints
    pieces: int

    def transfer_bytes(self, size_bytes: int) -> Ints:
        """Return the bytes of every transfer, at least one, where a rank's buffer holds ``size_bytes``."""
        return np.maximum(self.chunks * size_bytes // self.pieces, 1)


@dataclass(frozen=True, eq=False)
class Transfers:
    """Rows in order of their steps; all transfers of a step read the state before it.

    Attributes
    ----------
    name, collective, ranks, chunks
        As in :class:`~topoopt.collectives.Schedule`. In an all-gather and a reduce-scatter, chunk c belongs to rank
        ``c // (chunks / ranks)``.
    step, src, dst, first, count : int64 arrays, shape (rows,)
        Steps count from 0. A row is chunks ``first : first + count``.
    reduce : bool array, shape (rows,)
        Whether the receiver adds them to its own.
    """

    name: str
    collective: str
    ranks: int
    chunks: int
    step: Ints
    src: Ints
    dst: Ints
    first: Ints
    count: Ints
    reduce: Flags

    def __len__(self) -> int:
        return len(self.step)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.step.max()) + 1

    def in_order(self) -> "Transfers":
        """Return the rows in order of step, sender, receiver and chunk; runs that meet are one."""
        rows = np.stack([self.step, self.src, self.dst, self.first, self.count, self.reduce.astype(np.int64)])
        rows = rows[:, np.lexsort(rows[3::-1])]
        meets = (rows[:3, 1:] == rows[:3, :-1]).all(axis=0) & (rows[5, 1:] == rows[5, :-1])
        meets &= rows[3, 1:] == rows[3, :-1] + rows[4, :-1]
        begins = np.concatenate([[0], np.flatnonzero(~meets) + 1])
        count = np.add.reduceat(rows[4], begins)
        step, src, dst, first, _, reduce = rows[:, begins]
        return replace(
            self, step=step, src=src, dst=dst, first=first, count=count, reduce=reduce.astype(np.bool_)
        )

    def backwards(self) -> "Transfers":
        """Return the reduce-scatter that reverses an all-gather: forwarded chunks are summed."""
        assert self.collective == "all-gather"
        turned = replace(
            self,
            collective="reduce-scatter",
            step=self.steps - 1 - self.step,
            src=self.dst,
            dst=self.src,
            reduce=np.ones(len(self), np.bool_),
        )
        return turned.in_order()


def one_after_the_other(first: Transfers, second: Transfers) -> Transfers:
    """Return the AllReduce of a reduce-scatter and an all-gather."""
    assert (first.ranks, first.chunks) == (second.ranks, second.chunks)
    return Transfers(
        first.name,
        "allreduce",
        first.ranks,
        first.chunks,
        np.concatenate([first.step, second.step + first.steps]),
        np.concatenate([first.src, second.src]),
        np.concatenate([first.dst, second.dst]),
        np.concatenate([first.first, second.first]),
        np.concatenate([first.count, second.count]),
        np.concatenate([first.reduce, second.reduce]),
    )


def transfers_of(schedule: Schedule) -> Transfers:
    """Return the rows of a schedule."""
    rows = [(step, *send) for step, sends in enumerate(schedule.steps) for send in sends]
    step, src, dst, first, reduce = np.array(rows, np.int64).T
    one = np.ones(len(rows), np.int64)
    moved = Transfers(
        schedule.name,
        schedule.collective,
        schedule.ranks,
        schedule.chunks,
        step,
        src,
        dst,
        first,
        one,
        reduce.astype(np.bool_),
    )
    return moved.in_order()


def along_orders(transfers: Transfers, orders: Sequence[Sequence[int]]) -> Transfers:
    """Return the schedule along several orders of the servers at once, an equal part of the message along each.

    In an all-gather and a reduce-scatter, part i of a server's shard is its chunk i.

    Raises
    ------
    InvalidInput
        If an order is not one of all ranks.
    """
    n, parts = transfers.ranks, len(orders)
    alone = transfers.collective != "allreduce"
    if alone and transfers.chunks != n:
        raise InvalidInput(f"collective {transfers.name}: a shard of one chunk is expected")
    rows = []
    for part, order in enumerate(orders):
        place = np.asarray(order, np.int64)
        if sorted(order) != list(range(n)):
            raise InvalidInput(f"collective {transfers.name}: an order of {n} ranks names each once")
        chunk, count = transfers.first, transfers.count
        index = np.repeat(np.arange(len(transfers)), count if alone else 1)
        if alone:
            inner = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
            chunk, count = place[chunk[index] + inner] * parts + part, np.ones(len(index), np.int64)
        else:
            chunk = chunk + part * transfers.chunks
        ends = place[transfers.src[index]], place[transfers.dst[index]]
        rows.append((transfers.step[index], *ends, chunk, count, transfers.reduce[index]))
    step, src, dst, first, counts, reduce = (np.concatenate(column) for column in zip(*rows, strict=True))
    laid = replace(
        transfers,
        chunks=transfers.chunks * parts,
        step=step,
        src=src,
        dst=dst,
        first=first,
        count=counts,
        reduce=reduce.astype(np.bool_),
    )
    return laid.in_order()


def along(moves: Moves, orders: Sequence[Sequence[int]]) -> Moves:
    """Return the transfers between servers: an equal share of the bytes in each order of the members."""
    servers = [np.asarray(order, np.int64) for order in orders]
    return merged(
        Moves(
            np.tile(moves.step, len(servers)),
            np.concatenate([order[moves.src] for order in servers]),
            np.concatenate([order[moves.dst] for order in servers]),
            np.tile(moves.chunks, len(servers)),
            moves.pieces * len(servers),
        )
    )


def merged(moves: Moves) -> Moves:
    """Return the transfers in order of step and ends, those of one step between the same ends as one."""
    nodes = int(max(moves.src.max(), moves.dst.max())) + 1
    key = (moves.step * nodes + moves.src) * nodes + moves.dst
    distinct, row = np.unique(key, return_inverse=True)
    chunks = np.bincount(row, moves.chunks).astype(np.int64)
    step, ends = np.divmod(distinct, nodes * nodes)
    src, dst = np.divmod(ends, nodes)
    return Moves(step, src, dst, chunks, moves.pieces)


def pipelined(moves: Moves, parts: int) -> Moves:
    """Return the transfers with the message in equal parts, each one step behind the previous one.

    In every step, each link carries different parts in different steps of the schedule.
    """
    if parts == 1:
        return moves
    behind = np.repeat(np.arange(parts), len(moves))
    src, dst, chunks = (np.tile(column, parts) for column in (moves.src, moves.dst, moves.chunks))
    return merged(Moves(np.tile(moves.step, parts) + behind, src, dst, chunks, moves.pieces * parts))
