"""The nouns Exchange and Synchronization: what workers do together, every micro-batch or once an iteration."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known

PASSES = ("forward", "backward", "weights")
"""Of a micro-batch through a chunk. ``weights`` makes the gradients of weights: a pass of its own where the schedule
splits the backward pass, and part of it elsewhere."""
COLLECTIVE_KINDS = ("allreduce", "reduce-scatter", "all-gather", "all-to-all")
MOMENTS = ("before", "inside", "after")
"""When an exchange of a pass takes place. ``before``: the pass waits for it, and it begins as soon as the pass before
begins. ``inside``: pass and exchange take turns, and neither goes on without the other. ``after``: nobody waits for it
but the optimizer."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective over servers that goes with every pass of a micro-batch through one chunk.

    Attributes
    ----------
    chunk : int
    direction : str
        One of :data:`PASSES`.
    moment : str
        One of :data:`MOMENTS`.
    replicas : tuple of int
        Replicas whose workers take part: it begins when all are ready.
    members : tuple of int
        Servers, in ring order.
    collective : str
        One of :data:`COLLECTIVE_KINDS`.
    size_bytes : int
        Buffer of one member, of all ``count`` operations of one pass together. An all-to-all sends
        ``size_bytes / len(members)`` from each member to each.
    count : int
        Operations of one pass.
    delay_s : float
        What goes before inside the servers, of all operations together.
    pair_bytes : tuple of tuples of int
        Of an all-to-all that is not uniform: bytes from each member to each, ``[source][destination]``, of all
        operations together; ``size_bytes`` is not read then.
    turn : int
        Of the exchanges at one moment of one pass those of the lowest turn come first, and those of equal turns take
        place at once.
    """

    chunk: int
    direction: str
    moment: str
    replicas: tuple[int, ...]
    members: tuple[int, ...]
    collective: str
    size_bytes: int
    count: int = 1
    delay_s: float = 0.0
    pair_bytes: tuple[tuple[int, ...], ...] = ()
    turn: int = 0

    def __post_init__(self) -> None:
        check_known("direction", self.direction, PASSES)
        check_known("moment", self.moment, MOMENTS)
        check_known("collective", self.collective, COLLECTIVE_KINDS)
        if self.count < 1:
            raise InvalidInput(f"exchange: count: expected an integer >= 1, got {self.count}")
        if self.pair_bytes and (self.moment == "before" or self.collective != "all-to-all"):
            raise InvalidInput(
                f"exchange: pair_bytes are of an all-to-all inside or after a pass, "
                f"not of {self.collective} {self.moment}"
            )
        sides = {len(self.pair_bytes), *(len(row) for row in self.pair_bytes)}
        if self.pair_bytes and sides != {len(self.members)}:
            raise InvalidInput(f"exchange: pair_bytes must have {len(self.members)} rows and columns")


@dataclass(frozen=True, slots=True)
class Synchronization:
    """Gradients that workers have in common, summed once an iteration, after the last micro-batch.

    Attributes
    ----------
    chunks, replicas : tuples of int
        The workers of these chunks in these replicas take part.
    members : tuple of int
        Servers, in ring order.
    collective : str
        ``allreduce``, or ``reduce-scatter`` where the optimizer's state is shared out.
    size_bytes : int
        Buffer of one member.
    delay_s : float
        What goes before inside the servers.
    gather_bytes, gather_delay_s : int, float
        Parameters that are gathered after the optimizer, buffer of one member; 0 where all have them.
    turn : int
        A worker begins with those of the lowest turn; those of equal turns take place at once.
    """

    chunks: tuple[int, ...]
    replicas: tuple[int, ...]
    members: tuple[int, ...]
    collective: str
    size_bytes: int
    delay_s: float = 0.0
    gather_bytes: int = 0
    gather_delay_s: float = 0.0
    turn: int = 0

    def __post_init__(self) -> None:
        check_known("collective", self.collective, COLLECTIVE_KINDS[:2])
