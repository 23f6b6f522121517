"""The noun ChosenWiring: which family of wirings a plan's is of, how it is made, and what that gains over strides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ChosenWiring:
    """How all servers of a plan are wired.

    Attributes
    ----------
    family : str
        ``strides``, a name of the table of families, or ``group rings``: each group of replicas for itself.
    group : int
        So often every link is repeated, turned by servers/group; the number of servers for strides, 1 without symmetry.
    recipe : mapping
        How it is made: strides, orbits and voltages …; where ranks were placed, the ``vertex`` of each server.
    strides_time_s : float, optional
        The least iteration time on strides that the same search has found.
    over_strides : float, optional
        That over the plan's, minus 1.
    """

    family: str
    group: int = 1
    recipe: Mapping[str, Any] = field(default_factory=dict)
    strides_time_s: float | None = None
    over_strides: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the servers, where a wiring file of others gave them; empty where servers are numbers."""
        names = self.recipe.get("names")
        listed = names if isinstance(names, list) else []
        return tuple(listed) if all(isinstance(name, str) for name in listed) else ()
