"""How long it takes to rewire, by technology."""

from collections import Counter
from dataclasses import dataclass

from topoopt.catalog import OpticalSwitch, optical_switches
from topoopt.finder.rewiring.order import MoveOrder, Step
from topoopt.finder.rewiring.wiring import Wiring


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

    An optical switch makes all connections of a step at once, in its reconfiguration time. On a patch panel they are
    made one after the other, each in the time of moving a fiber; panels are worked on side by side. Steps follow each
    other.

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
            sum(step_time_s(step, wiring, technology) for step in order.steps),
        )
        for technology in optical_switches()
    )


def step_time_s(step: Step, wiring: Wiring, technology: OpticalSwitch) -> float:
    """Return the time of the moves that are made at once; see :func:`rewiring_times`."""
    if technology.fiber_move_s is None:
        return technology.reconfiguration_s
    touched = [Counter(wiring.panel_of(patch) for patch in some) for some in (step.unplug, step.plug)]
    return technology.fiber_move_s * max(max(some.values(), default=0) for some in touched)
