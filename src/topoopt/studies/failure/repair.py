"""The noun Repair: one way to go on after a failure, and what it asks for."""

from collections.abc import Callable
from dataclasses import dataclass

from topoopt.finder.rewiring import Patch, Wiring
from topoopt.jobs import Job
from topoopt.routing import Fabric
from topoopt.studies.failure.failed import Failure, Situation
from topoopt.workloads.strategy import ParallelStrategy


@dataclass(frozen=True, eq=False)
class Repair:
    """A way to go on, ready to be simulated.

    Attributes
    ----------
    job, strategy, fabric
        What runs after it; the job may have fewer servers.
    wiring : Wiring
        What is plugged in after it.
    removed, made : tuple of Patch
        The moves from what the failure has left. A broken fiber that hangs dead in its ports is none of them.
    restart : bool
        Whether the job starts again from its last checkpoint.
    """

    job: Job
    strategy: ParallelStrategy
    fabric: Fabric
    wiring: Wiring
    removed: tuple[Patch, ...] = ()
    made: tuple[Patch, ...] = ()
    restart: bool = False

    @property
    def moved_fibers(self) -> int:
        """Fibers to touch."""
        return max(len(self.removed), len(self.made))


@dataclass(frozen=True, slots=True)
class Way:
    """A kind of repair.

    Attributes
    ----------
    of : function from a situation to a repair
        Raises Infeasible or NoRoute, with the reason, where it does not help.
    failures : tuple of kinds of failure that it is meant for
    otherwise : str
        Why it is not meant for the others.
    """

    name: str
    description: str
    of: Callable[[Situation], Repair]
    failures: tuple[type[Failure], ...]
    otherwise: str
