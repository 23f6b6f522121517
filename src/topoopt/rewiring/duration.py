"""How long it takes to rewire, by technology."""

from collections import Counter
from dataclasses import dataclass

from topoopt.hardware import OpticalSwitch, optical_switches
from topoopt.rewiring.order import MoveOrder, Step
from topoopt.rewiring.wiring import Wiring

ONE_BY_ONE = "patch-panel"
"""The technology that moves one fiber after the other."""


@dataclass(frozen=True, slots=True)
class RewiringTime:
    """What the moves take on one technology.

    Attributes
    ----------
    ports : int
        Ports that a panel needs: one for each interface that goes to it.
    fits : bool
        Whether the largest device has as many.
    """

    technology: OpticalSwitch
    ports: int
    fits: bool
    time_s: float


def rewiring_times(order: MoveOrder, wiring: Wiring, servers: int) -> tuple[RewiringTime, ...]:
    """Return the time of every technology of the catalogue, the slowest first.

    An optical switch makes all connections of a step at once, in its reconfiguration time. On a patch panel every
    fiber takes that long; panels are worked on side by side, one fiber at a time on each. Steps follow each other.

    Parameters
    ----------
    servers : int
        Servers of the room.
    """
    ports = servers * wiring.interfaces_per_panel
    return tuple(
        RewiringTime(
            technology,
            ports,
            ports <= technology.ports,
            technology.reconfiguration_s * sum(_turns(step, wiring, technology.name) for step in order.steps),
        )
        for technology in optical_switches()
    )


def _turns(step: Step, wiring: Wiring, technology: str) -> int:
    """Return how many reconfiguration times a step takes."""
    if technology != ONE_BY_ONE:
        return 1
    touched = [Counter(wiring.panel_of(patch) for patch in some) for some in (step.unplug, step.plug)]
    return max((max(some.values(), default=0) for some in touched), default=0)
