"""The noun Transfers: a schedule as arrays, a row for each run of chunks that one rank sends another in one step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.base.errors import InvalidInput
from topoopt.collectives.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Transfers:
    """Rows in order of their steps; all of a step read what was there before it.

    Attributes
    ----------
    name, collective, ranks, chunks
        As in :class:`~topoopt.collectives.Schedule`. Of an all-gather and a reduce-scatter, chunk c is of rank
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
        """How many steps there are."""
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
        """Return the reduce-scatter that an all-gather is backwards: what was handed on is now added up."""
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

    Of an all-gather and a reduce-scatter, part i of a server's shard is chunk i of it.

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
