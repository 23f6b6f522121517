"""How light gets into a fiber, or whether a link is copper: what is plugged in at its ends, how far it reaches."""

from collections.abc import Mapping

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import check_known
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
