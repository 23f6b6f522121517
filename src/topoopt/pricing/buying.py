"""What a rule that counts parts is told, and what it gives: interfaces, choices and prices in, parts out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from topoopt.base.arrays import Floats
from topoopt.pricing.accounting import Accounting
from topoopt.pricing.fabric_options import FabricOptions
from topoopt.pricing.part_table import Part, PartTable
from topoopt.pricing.switch_choice import Plane


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The interfaces of all servers: ``degree`` of ``bandwidth_bps`` at each of ``servers``."""

    servers: int
    degree: int
    bandwidth_bps: float

    @property
    def total(self) -> int:
        """Interfaces of all servers together."""
        return self.servers * self.degree


@dataclass(frozen=True, eq=False)
class Buying:
    """Interfaces that are to be joined, how it is counted and chosen, and how long a link is.

    Attributes
    ----------
    lengths_m : array of shape (servers,)
        Of the cable from each server to the middle of the room.
    length_m : float
        Mean length of a link of the fabric.
    """

    interfaces: Interfaces
    rule: Accounting
    options: FabricOptions
    prices: PartTable
    lengths_m: Floats
    length_m: float

    @property
    def technology(self) -> str:
        """What links are made of."""
        return self.options.link_technology

    def of(self, degree: int) -> "Buying":
        """Return the same for some of the interfaces of every server."""
        return replace(self, interfaces=replace(self.interfaces, degree=degree))

    def fiber_m(self, fibers: float, *, switched: bool = False) -> float:
        """Return meters of so many fibers, none where they are not counted."""
        counted = self.rule.fiber_on == "every-fabric" or (switched and self.rule.fiber_on == "fat-trees")
        return fibers * self.length_m if counted else 0


@dataclass(frozen=True)
class Counted:
    """How many of each part, and the trees of switches that they make where whole switches are bought."""

    parts: Mapping[Part, float]
    planes: tuple[Plane, ...] = ()

    def plus(self, other: "Counted") -> "Counted":
        """Return the parts of both."""
        parts = dict(self.parts)
        for part, count in other.parts.items():
            parts[part] = parts.get(part, 0) + count
        return Counted(parts, self.planes + other.planes)


CountRule = Callable[[Buying], Counted]
