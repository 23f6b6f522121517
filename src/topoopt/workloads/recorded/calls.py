"""What accelerators have called: collectives and messages, counted by rank while a recording is read."""

from collections import Counter
from typing import NamedTuple

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE = (
    "allreduce",
    "all-gather",
    "reduce-scatter",
    "broadcast",
    "reduce",
)
GATHER, SCATTER, ALL_TO_ALL, SEND, RECEIVE = "gather", "scatter", "all-to-all", "send", "receive"


class Call(NamedTuple):
    """What one accelerator calls, again and again; the bytes of all these calls are counted together.

    Attributes
    ----------
    rank : int
        Who calls.
    kind : str
        ``allreduce``, ``broadcast``, ``reduce``: the bytes are those of the buffer. ``all-gather``, ``reduce-scatter``:
        of all shards together. ``gather``, ``scatter``: of one member's part. ``all-to-all``: what a member has for one
        other. ``send``, ``receive``: of the message.
    members : tuple of int
        Ranks of the group, ascending; of a message none.
    peer : int
        The other end of a message, the root of a gather or a scatter; -1 for all else.
    """

    rank: int
    kind: str
    members: tuple[int, ...] = ()
    peer: int = -1


Calls = Counter[Call]
"""Bytes by call."""
