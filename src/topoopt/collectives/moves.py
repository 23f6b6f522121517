"""What goes from whom to whom in each step of a schedule: sends between the same ranks are one transfer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints

MOST_RANKS = 1_024
"""Schedules of more ranks have tens of millions of sends."""


@dataclass(frozen=True, eq=False)
class Moves:
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

    def __len__(self) -> int:
        return len(self.step)

    def transfer_bytes(self, size_bytes: int) -> Ints:
        """Return the bytes of every transfer, at least one, where a rank's buffer holds ``size_bytes``."""
        return np.maximum(self.chunks * size_bytes // self.pieces, 1)


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
    """Return the transfers with the message in so many equal parts, each a step behind the one before it.

    In every step a link carries what different parts have to send in different steps of the schedule.
    """
    if parts == 1:
        return moves
    behind = np.repeat(np.arange(parts), len(moves))
    src, dst, chunks = (np.tile(column, parts) for column in (moves.src, moves.dst, moves.chunks))
    return merged(Moves(np.tile(moves.step, parts) + behind, src, dst, chunks, moves.pieces * parts))
