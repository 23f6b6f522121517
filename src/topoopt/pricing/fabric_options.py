"""The options of a fabric that is bought (FabricOptions), among them the link technology."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import PacketSwitch, copper_reach
from topoopt.pricing.price_lists import Item, Part

FIBER_ON = ("every-fabric", "fat-trees", "none")
SWITCH_COUNTS = ("whole", "ports")
CUSTOM = "custom"
"""Name of an accounting that is none of the named ones."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """Parts that are counted. The default counts everything that must be bought, in whole units that are
    sold.

    Attributes
    ----------
    name : str
        Written into the bill, so that every figure has its accounting.
    switches : str
        ``whole``: switches of the catalogue, in the fewest tiers that reach, spare ports paid for. ``ports``: the
        ports in use of a k-ary fat-tree, whose switches have any radix, as in the paper.
    nics : bool
        Whether network cards are counted.
    look_ahead : bool
        Whether a patch-panel fabric has a second panel, on which the next job is wired while this one runs:
        two panel ports and a 1×2 optical switch for every interface. One job needs none; clusters of many have it.
    fiber_on : str
        ``every-fabric``, ``fat-trees`` (only the packet-switched ones pay for fiber) or ``none``.
    look_ahead_fiber : bool
        Whether the second panel has fibers of its own.
    fiber_length_m : float or None
        Mean length of a link; None takes it from the positions of servers (:class:`topoopt.pricing.RoomLayout`). The
        paper's 0 to 1000 m uniformly has a mean of 500 m.
    tiers : int or None
        Layers of switches of a fat-tree; None for the fewest that reach, of whole switches alone.
    """

    name: str = "complete"
    switches: str = "whole"
    nics: bool = True
    look_ahead: bool = False
    fiber_on: str = "every-fabric"
    look_ahead_fiber: bool = True
    fiber_length_m: float | None = None
    tiers: int | None = None

    def __post_init__(self) -> None:
        check_known("fiber_on", self.fiber_on, FIBER_ON)
        check_known("switches", self.switches, SWITCH_COUNTS)
        if self.fiber_length_m is not None and not 0 <= self.fiber_length_m < float("inf"):
            raise InvalidInput(f"fiber_length_m: expected meters >= 0, got {self.fiber_length_m}")
        if self.tiers not in (None, 1, 2, 3):
            raise InvalidInput(f"tiers: expected 1, 2 or 3, got {self.tiers}")
        if self.switches == "ports" and self.tiers is None:
            raise InvalidInput("tiers: ports are counted of 1, 2 or 3 tiers; give one")

    @property
    def words(self) -> str:
        """Description of every choice, to accompany a price."""
        panels = "two panels and 1×2 switches" if self.look_ahead else "one panel"
        where = {"every-fabric": "on every fabric", "fat-trees": "on fat-trees only"}.get(self.fiber_on)
        second = ", those of the second panel too" if self.look_ahead and self.look_ahead_fiber else ""
        second = second if self.fiber_on == "every-fabric" else ""
        long = "fiber by the layout of the room"
        if self.fiber_length_m is not None:
            long = f"{self.fiber_length_m:g} m of fiber a link"
        fiber = f"{long} {where}{second}" if where else "no fiber"
        return f"{'NICs' if self.nics else 'no NICs'}; {panels}; {fiber}; {self._trees}"

    @property
    def _trees(self) -> str:
        if self.switches == "ports":
            return f"fat-trees of {counted_tiers(self.tiers or 3)}"
        tiers = "the fewest tiers that reach" if self.tiers is None else counted_tiers(self.tiers)
        return f"whole switches in {tiers}"


PAPER = Accounting(name="paper", switches="ports", look_ahead=True, fiber_length_m=500.0, tiers=3)
"""Accounting of the paper: the ports of a k-ary fat-tree with three tiers, and 500 m of fiber per link."""
ACCOUNTINGS: Mapping[str, Accounting] = {
    accounting.name: accounting
    for accounting in (
        Accounting(),
        PAPER,
        replace(PAPER, name="no-look-ahead", look_ahead=False, look_ahead_fiber=False),
        replace(PAPER, name="fat-tree-fiber", fiber_on="fat-trees"),
    )
}
"""Named accountings. None of them gives both of the published ratios: see :func:`topoopt.pricing.cost_ratios`."""
PLUGGABLE, LINEAR, CO_PACKAGED, COPPER = "pluggable", "linear", "co-packaged", "copper"
LINK_TECHNOLOGIES: Mapping[str, str] = {
    PLUGGABLE: "modules with a signal processor at both ends",
    LINEAR: "modules without a signal processor (LPO) at both ends",
    CO_PACKAGED: "optics in the package of switches that come with them; modules at servers",
    COPPER: "cables of copper from servers into first switches wherever they reach; modules beyond",
}
"""Link technologies by name."""
REGION_SERVERS = 8
"""Servers of a region of mixnet, joined by one optical circuit switch: as the fabric has it."""


@dataclass(frozen=True, slots=True)
class FabricOptions:
    """Options that change the parts bought.

    Attributes
    ----------
    oversubscription : float
        Oversubscription ratio of the fat-tree: bandwidth into a first-tier switch over bandwidth out of it.
    ocs_interfaces : int or None
        Interfaces per server behind optical circuit switches in the hybrid fabric; the others are behind
        patch panels. By default half of them, and at least one.
    electrical_interfaces : int or None
        Interfaces per server on the electrical fat-tree of mixnet; the others are on optical circuit
        switches. By default a quarter of them, and at least one.
    link_technology : str
        A name in :data:`topoopt.pricing.LINK_TECHNOLOGIES`.
    technology : str or None
        Optical technology of circuit switches, where the price list has one for its ports.
    """

    oversubscription: float = 2.0
    ocs_interfaces: int | None = None
    electrical_interfaces: int | None = None
    link_technology: str = PLUGGABLE
    technology: str | None = None

    def __post_init__(self) -> None:
        check_known("link_technology", self.link_technology, LINK_TECHNOLOGIES)
        if not 1 <= self.oversubscription < float("inf"):
            raise InvalidInput(f"oversubscription: expected a ratio >= 1, got {self.oversubscription:g}")

    def hybrid_ocs_interfaces(self, degree: int) -> int:
        """Return how many of ``degree`` interfaces are behind optical circuit switches in the hybrid.

        Raises
        ------
        InvalidInput
            If none would be left behind a panel, or none behind a switch.

        Examples
        --------
        >>> [FabricOptions().hybrid_ocs_interfaces(degree) for degree in (2, 3, 4, 8)]
        [1, 1, 2, 4]
        """
        chosen = max(degree // 2, 1) if self.ocs_interfaces is None else self.ocs_interfaces
        instead = "topoopt or topoopt-ocs", "topoopt-ocs or topoopt"
        return _some("topoopt-hybrid", "ocs_interfaces", chosen, degree, instead)

    def mixnet_electrical_interfaces(self, degree: int) -> int:
        """Return how many of ``degree`` interfaces are on mixnet's electrical fat-tree.

        Raises
        ------
        InvalidInput
            If none would be left for circuits, or none for the fat-tree.

        Examples
        --------
        >>> [FabricOptions().mixnet_electrical_interfaces(degree) for degree in (2, 4, 8)]
        [1, 1, 2]
        """
        chosen = max(degree // 4, 1) if self.electrical_interfaces is None else self.electrical_interfaces
        instead = "fat-tree", "fat-tree or ocs-reconfig"
        return _some("mixnet", "electrical_interfaces", chosen, degree, instead)


def _some(fabric: str, option: str, chosen: int, degree: int, instead: tuple[str, str]) -> int:
    """Return the chosen interfaces, which must be some but not all; else ``instead`` names the alternative."""
    if degree < 2:
        raise InvalidInput(
            f"{fabric}: a server needs 2 interfaces or more, one of each kind; use {instead[0]}"
        )
    if not 1 <= chosen < degree:
        raise InvalidInput(
            f"{fabric}: {option} must be 1..{degree - 1} of {degree} interfaces, got {chosen}; "
            f"for all or none use {instead[1]}"
        )
    return chosen


def server_module(technology: str) -> Item:
    """Return the module in an interface of a server."""
    return "linear_transceiver" if technology == LINEAR else "transceiver"


def plugged(technology: str, switch: PacketSwitch, split: int, bandwidth_bps: float) -> tuple[Part, ...]:
    """Return the parts in a port of a switch that carries ``split`` links.

    A port that is split has a module of its whole speed, and a cable that fans it out. One that is not has a module of
    the speed of its link.
    """
    fan = (Part("breakout_cable"),) if split > 1 else ()
    if technology == CO_PACKAGED:
        return fan
    speed = switch.port_bandwidth_bps if split > 1 else bandwidth_bps
    return (Part(server_module(technology), speed), *fan)


def in_copper(lengths_m: Floats, bandwidth_bps: float) -> dict[Item, int]:
    """Return the number of links of these lengths by copper cable: passive ones first, then active ones.

    Examples
    --------
    >>> in_copper(np.array([1.5, 5.0, 9.0]), 400e9)
    {'passive_copper': 1, 'active_copper': 1}
    """
    reach = copper_reach(bandwidth_bps)
    if reach is None:
        return {"passive_copper": 0, "active_copper": 0}
    passive = int(np.count_nonzero(lengths_m <= reach.passive_reach_m))
    active = int(np.count_nonzero(lengths_m <= reach.active_reach_m)) - passive
    return {"passive_copper": passive, "active_copper": active}


def counted_tiers(tiers: int) -> str:
    """Return ``3 tiers`` or ``1 tier``."""
    return f"{tiers} tier" if tiers == 1 else f"{tiers} tiers"


def changed_accounting(name: str, **choices: Any) -> Accounting:
    """Return a named accounting with other options; a result that is none of the named ones is called ``custom``.

    Examples
    --------
    >>> changed_accounting("complete", nics=False).name
    'custom'
    >>> changed_accounting("paper", look_ahead=False, look_ahead_fiber=False).name
    'no-look-ahead'
    """
    changed = replace(find_accounting(name), **choices)
    alike = [other for other in ACCOUNTINGS.values() if replace(changed, name=other.name) == other]
    return alike[0] if alike else replace(changed, name=CUSTOM)


def find_accounting(name: str) -> Accounting:
    """Return a named accounting; an unknown name is an :class:`InvalidInput` with the nearest ones."""
    check_known("accounting", name, ACCOUNTINGS)
    return ACCOUNTINGS[name]
