"""The options of a fabric that is bought (FabricOptions), among them the link technology."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import PacketSwitch, copper_reach
from topoopt.pricing.part_table import Item, Part

PLUGGABLE, LINEAR, CO_PACKAGED, COPPER = "pluggable", "linear", "co-packaged", "copper"
LINK_TECHNOLOGIES: Mapping[str, str] = {
    PLUGGABLE: "modules with a signal processor at both ends",
    LINEAR: "modules without a signal processor (LPO) at both ends",
    CO_PACKAGED: "optics in the package of switches that come with them; modules at servers",
    COPPER: "cables of copper from servers into first switches wherever they reach; modules beyond",
}
"""What links are made of, by name."""
REGION_SERVERS = 8
"""Servers of a region of mixnet, joined by one optical circuit switch: as the fabric has it."""


@dataclass(frozen=True, slots=True)
class FabricOptions:
    """Choices that change what is bought.

    Attributes
    ----------
    oversubscription : float
        Of the oversubscribed fat-tree: bandwidth into a first switch over bandwidth out of it.
    ocs_interfaces : int or None
        Of the hybrid: how many of a server's interfaces are behind optical circuit switches, the others behind
        patch panels; by default half of them, and at least one.
    electrical_interfaces : int or None
        Of mixnet: how many of a server's interfaces are on the electrical fat-tree, the others on optical circuit
        switches; by default a quarter of them, and at least one.
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
        check_link_technology(self.link_technology)
        if not 1 <= self.oversubscription < float("inf"):
            raise InvalidInput(f"oversubscription: expected a ratio >= 1, got {self.oversubscription:g}")

    def hybrid_ocs_interfaces(self, degree: int) -> int:
        """Return how many of ``degree`` interfaces the hybrid has behind optical circuit switches.

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
        """Return how many of ``degree`` interfaces mixnet has on its electrical fat-tree.

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
    """Return the chosen interfaces, which must be some but not all; else ``instead`` names what to take."""
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


def check_link_technology(name: str) -> None:
    """Refuse a technology that is none of the known ones.

    Raises
    ------
    InvalidInput
        With the nearest names.
    """
    check_known("link_technology", name, LINK_TECHNOLOGIES)


def server_module(technology: str) -> Item:
    """Return what is plugged into an interface of a server."""
    return "linear_transceiver" if technology == LINEAR else "transceiver"


def plugged(technology: str, switch: PacketSwitch, split: int, bandwidth_bps: float) -> tuple[Part, ...]:
    """Return what is plugged into a port of a switch that carries ``split`` links.

    A port that is split has a module of its whole speed, and a cable that fans it out. One that is not has a module of
    the speed of its link.
    """
    fan = (Part("breakout_cable"),) if split > 1 else ()
    if technology == CO_PACKAGED:
        return fan
    speed = switch.port_bandwidth_bps if split > 1 else bandwidth_bps
    return (Part(server_module(technology), speed), *fan)


def in_copper(lengths_m: Floats, bandwidth_bps: float) -> dict[Item, int]:
    """Return how many links of these lengths copper reaches: passive cables first, active ones beyond.

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
