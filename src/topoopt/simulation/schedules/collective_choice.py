"""The noun CollectiveChoice: the algorithm of some collectives of a job."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CollectiveChoice:
    """The algorithm of all collectives of one kind, group and size.

    Attributes
    ----------
    members : tuple of int
        Servers, in the order in which the collective names them.
    size_bytes : int
        Buffer of one member.
    count : int
        How many collectives of a task graph these are.
    transfers : int
        Of one of them, each simulated on its own; 0 of a ring, which the simulators know as a whole.
    alone_s : float, optional
        Closed-form time of one of them if nothing else moves; None where circuits change.
    """

    collective: str
    members: tuple[int, ...]
    size_bytes: int
    count: int
    algorithm: str
    transfers: int
    alone_s: float | None
