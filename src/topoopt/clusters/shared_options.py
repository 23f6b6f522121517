"""What the simulation of a shared fabric may be asked for."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known
from topoopt.collectives import RING_MODELS

CONNECTIONS = ("group", "collective")
"""What opens connections. ``group``: each edge of its ring once, for all its collectives, as communication libraries
do; a link is shared equally by the edges on it. ``collective``: every collective anew, as in the flow simulator, so
that a job with many AllReduces under way gets as many shares; here they still take one path."""


@dataclass(frozen=True, slots=True)
class SharingOptions:
    """Options of :func:`topoopt.clusters.shared_pace`.

    Attributes
    ----------
    seed : int
        Decides the paths of connections and when jobs begin.
    iterations : int
        Iterations that every job does, at least, while all of them run; all that shorter jobs do in that time count
        too. With 27 jobs on 432 servers of a fat-tree the means of jobs after one iteration are within 1.4 % (root
        mean square, at most 4.4 %) of those after 40, and their average within 0.5 %.
    connections : str
        Name in :data:`CONNECTIONS`.
    staggered : bool
        Jobs begin at random times within their own iteration; else all at once.
    rings : int
        Most rings of a group; 0 for as many as a server has links.
    ring_model : str
        Name in :data:`topoopt.collectives.RING_MODELS`.
    """

    seed: int = 0
    iterations: int = 1
    connections: str = "group"
    staggered: bool = True
    rings: int = 0
    ring_model: str = "stepped"

    def __post_init__(self) -> None:
        check_known("connections", self.connections, CONNECTIONS)
        check_known("ring model", self.ring_model, RING_MODELS)
        for name, least in (("seed", 0), ("iterations", 1), ("rings", 0)):
            if not getattr(self, name) >= least:
                raise InvalidInput(f"shared fabric: {name} must be >= {least}, got {getattr(self, name)}")


DEFAULT_SHARING = SharingOptions()
"""Connections of groups, random phases."""
