"""How long a job waits for its wiring: patch panels and their look-ahead, optical circuit switches."""

from dataclasses import dataclass

from topoopt.base.errors import Infeasible
from topoopt.catalog import find_optical_switch
from topoopt.clusters.settings import ClusterSettings

PANEL = "patch-panel"


@dataclass(frozen=True, slots=True)
class Switching:
    """How the links of a dedicated fabric are made.

    Attributes
    ----------
    technology : str
        Of the panels or switches, as in ``topoopt hardware optical-switches``.
    planes : int
        Sets of panels or switches: 2 with look-ahead, where each port of a server is behind a 1×2 switch.
    move_s : float
        Time in which one pair of hands moves one fiber; wirings are made one after another. 0: all at once, whoever
        else is rewired.
    hands : int
        Of each plane, at each set of panels.
    change_s : float
        What a job waits for in any case: a change of 1×2 switches, or of optical circuit switches.
    elastic : bool
        Whether jobs may change their size while they run.
    """

    technology: str
    planes: int
    move_s: float
    hands: int
    change_s: float
    elastic: bool

    def work_s(self, moves: int) -> float:
        """Return how long the hands are busy with so many fibers.

        Examples
        --------
        >>> Switching("patch-panel", 2, 30.0, 8, 0.01, elastic=False).work_s(64)
        240.0
        """
        return -(-moves // self.hands) * self.move_s


def panel_switching(settings: ClusterSettings) -> Switching:
    """Return the rules of patch panels; jobs on them keep the size that they started with."""
    panels = settings.panels
    hands = panels.hands or settings.logical.degree
    planes = 2 if panels.look_ahead else 1
    flip_s = panels.flip_s if panels.look_ahead else 0.0
    return Switching(PANEL, planes, panels.move_s, hands, flip_s, elastic=False)


def ocs_switching(settings: ClusterSettings) -> Switching:
    """Return the rules of optical circuit switches: one plane, rewired at once."""
    return Switching(
        settings.ocs, 1, 0.0, 1, find_optical_switch(settings.ocs).reconfiguration_s, elastic=True
    )


def servers_of_panels(technology: str, servers: int, largest: int, interfaces_per_panel: int = 1) -> int:
    """Return how many servers share a set of panels or switches: all, or of a larger cluster an even part of it.

    Sets of panels are joined by nothing, so that the servers of a job are those of one.

    Parameters
    ----------
    servers, largest : int
        Of the cluster, and of the largest job.

    Raises
    ------
    Infeasible
        If a job needs more ports than the largest device of a technology has.

    Examples
    --------
    >>> servers_of_panels("patch-panel", 432, 64), servers_of_panels("patch-panel", 4096, 256)
    (432, 820)
    """
    part = find_optical_switch(technology)
    most = part.ports // interfaces_per_panel
    parts = -(-servers // max(most, 1))
    each = -(-servers // parts)
    if most and largest <= each:
        return each
    goes = f"interface i of all {largest} servers of a job goes to switch i"
    if interfaces_per_panel > 1:
        goes = (
            f"{interfaces_per_panel} interfaces of all {largest} servers of a job go to one switch, as links around an "
            "odd number of servers need"
        )
    shared = "" if parts == 1 else f", and {parts} sets of switches join {each} servers each"
    raise Infeasible(
        f"optical switches: {goes}, but {technology} has {part.ports} ports{shared}; "
        "take a larger technology (topoopt hardware optical-switches) or smaller jobs"
    )
