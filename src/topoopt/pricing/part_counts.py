"""How many of each part a fabric takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.pricing.accounting import Accounting
from topoopt.pricing.fabric_options import (
    COPPER,
    FabricOptions,
    in_copper,
    plugged,
    server_module,
)
from topoopt.pricing.part_table import Item, Part, PartTable
from topoopt.pricing.switch_choice import Plane, Wanted, bought_as, chosen_planes, ports_for


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


PORT_OF_TECHNOLOGY: Mapping[str, Item] = {
    "patch-panel": "patch_panel_port",
    "3d-mems": "mems_port",
    "piezo": "piezo_port",
}
"""Which part a port of an optical technology is; the others have no price in any list."""


def behind_panels(buying: Buying) -> Counted:
    """Return the parts of interfaces behind patch panels, with their modules and network cards."""
    return _server_side(buying).plus(_panels(buying))


def behind_circuit_switches(buying: Buying) -> Counted:
    """Return the parts of interfaces behind optical circuit switches, with their modules and network cards."""
    return _server_side(buying).plus(_circuit_ports(buying))


def behind_both(buying: Buying, circuits: int) -> Counted:
    """Return the parts where ``circuits`` ports per server are behind circuit switches, the others behind panels."""
    panels = _panels(buying.of(buying.interfaces.degree - circuits))
    return _server_side(buying).plus(panels).plus(_circuit_ports(buying.of(circuits)))


def cabled(buying: Buying) -> Counted:
    """Return the parts of cables from server to server, with modules and network cards.

    The paper counts a fiber for every interface, although two interfaces share a cable; copper is bought by the cable.
    """
    size, cables = buying.interfaces, -(-buying.interfaces.total // 2)
    if buying.technology == COPPER and buying.rule.fiber_length_m is not None:
        copper = in_copper(np.full(cables, buying.length_m), size.bandwidth_bps)
        if sum(copper.values()) == cables:
            of_speed = {Part(item, size.bandwidth_bps): float(count) for item, count in copper.items()}
            return Counted({**_nics(buying), **of_speed})
    return _server_side(buying).plus(Counted({Part("fiber_m"): buying.fiber_m(size.total)}))


def _nics(buying: Buying) -> dict[Part, float]:
    size = buying.interfaces
    return {Part("nic", size.bandwidth_bps): size.total if buying.rule.nics else 0}


def _server_side(buying: Buying) -> Counted:
    size = buying.interfaces
    return Counted({**_nics(buying), Part(server_module(buying.technology), size.bandwidth_bps): size.total})


def _panels(buying: Buying) -> Counted:
    rule, interfaces = buying.rule, buying.interfaces.total
    fibers = 2 if rule.look_ahead and rule.look_ahead_fiber else 1
    return Counted(
        {
            Part("patch_panel_port"): (2 if rule.look_ahead else 1) * interfaces,
            Part("optical_switch_1x2"): interfaces if rule.look_ahead else 0,
            Part("fiber_m"): buying.fiber_m(fibers * interfaces),
        }
    )


def _circuit_ports(buying: Buying) -> Counted:
    """Return ports of circuit switches, of the technology that is named where the list has a price for it."""
    count = buying.interfaces.total
    item = PORT_OF_TECHNOLOGY.get(buying.options.technology or "", "ocs_port")
    if item == "patch_panel_port" or buying.prices.known_value(item) is None:
        item = "ocs_port"
    return Counted({Part(item): count, Part("fiber_m"): buying.fiber_m(count)})


def switched(buying: Buying, *, oversubscription: float = 1.0, rails: bool = False) -> Counted:
    """Return the parts of trees of switches that join all interfaces, cables and network cards included.

    Raises
    ------
    Infeasible
        If no switches of the catalogue can do it.
    """
    if buying.rule.switches == "ports":
        return ports_in_use(buying, (buying.rule.tiers or 3) - 1, oversubscription)
    size = buying.interfaces
    fiber_usd = (buying.prices.known_value("fiber_m") or 0.0) * buying.fiber_m(1, switched=True)
    wanted = Wanted(
        size.servers,
        size.degree,
        size.bandwidth_bps,
        buying.technology,
        fiber_usd,
        buying.rule.tiers,
        oversubscription,
        rails,
    )
    planes = chosen_planes(wanted, buying.prices)
    copper = in_copper(buying.lengths_m, size.bandwidth_bps) if buying.technology == COPPER else {}
    counted = Counted({Part("nic", size.bandwidth_bps): size.total if buying.rule.nics else 0}, planes)
    for plane in planes:
        reached = {item: servers * plane.interfaces for item, servers in copper.items()}
        counted = counted.plus(_of_plane(plane, reached, buying))
    return counted


def ports_in_use(buying: Buying, tiers_above: int, oversubscription: float = 1.0) -> Counted:
    """Return the parts of a k-ary fat-tree by the port: so many tiers of links above the first switch."""
    return parts_by_port(buying, tiers_above * _up(buying.interfaces.total, oversubscription))


def parts_by_port(buying: Buying, upper_links: int) -> Counted:
    """Return the parts of a link per interface into a first switch, and of so many links between switches.

    Every link has a transceiver at both ends, and a port at each end that is a switch.
    """
    size, rule = buying.interfaces, buying.rule
    links = size.total + upper_links
    return Counted(
        {
            Part("nic", size.bandwidth_bps): size.total if rule.nics else 0,
            Part(server_module(buying.technology), size.bandwidth_bps): 2 * links,
            Part("electrical_port", size.bandwidth_bps): size.total + 2 * upper_links,
            Part("fiber_m"): buying.fiber_m(links, switched=True),
        }
    )


def _of_plane(plane: Plane, copper: Mapping[Item, int], buying: Buying) -> Counted:
    """Return the parts of equal trees: switches, what is plugged in at both ends of each link, and the cables."""
    tree, model, speed_bps = plane.tree, plane.model, buying.interfaces.bandwidth_bps
    optical = tree.hosts - sum(copper.values())
    ends = ports_for(optical, model.split) + 2 * (
        ports_for(tree.leaf_links, model.split) + ports_for(tree.upper_links, model.split)
    )
    parts: dict[Part, float] = {
        part: count * tree.switches for part, count in bought_as(model.switch, buying.prices).items()
    }
    parts[Part(server_module(buying.technology), speed_bps)] = optical
    for part in plugged(buying.technology, model.switch, model.split, speed_bps):
        parts[part] = parts.get(part, 0) + ends
    for item, count in copper.items():
        parts[Part(item, speed_bps)] = count
    parts[Part("fiber_m")] = buying.fiber_m(optical + tree.links, switched=True)
    return Counted({part: count * plane.count for part, count in parts.items()})


def _up(links: int, oversubscription: float) -> int:
    """Return the links out of first switches: one for ``oversubscription`` links of servers."""
    whole = links / oversubscription
    return int(whole) if whole == int(whole) else int(whole) + 1
