"""Part counts of a fabric: switches, transceivers and cables, and panels or optical circuit switches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, inf
from operator import itemgetter

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import Transceiver, find_optical_switch, nics, optical_switches, transceivers
from topoopt.pricing.fabric_options import (
    COPPER,
    Accounting,
    FabricOptions,
    in_copper,
    plugged,
    server_module,
)
from topoopt.pricing.price_lists import Item, Part, PartTable
from topoopt.pricing.switch_choice import Plane, Wanted, bought_as, chosen_planes, ports_for, price_of


def is_panel(name: str) -> bool:
    """Return whether the fibers of an optical technology or product are moved one after the other."""
    return find_optical_switch(name).fiber_move_s is not None


@dataclass(frozen=True, slots=True)
class Cabling:
    """Cabling between servers and the optical devices of a fabric.

    Attributes
    ----------
    links : str
        ``duplex`` or ``directed``, as a topology has it.
    shards : int
        Parts of the cluster with devices of their own.
    technology : str or None
        Optical technology or product in place of the default ones.
    look_ahead : bool
        Whether every panel has a second one, on which the next job is wired.
    interfaces_per_device : int or None
        Interfaces of a server on one device, where the wiring is known.
    """

    links: str = "duplex"
    shards: int = 1
    technology: str | None = None
    look_ahead: bool = True
    interfaces_per_device: int | None = None

    def sharing(self, servers: int) -> int:
        """Return the interfaces per server on one device."""
        return self.interfaces_per_device or sharing_interfaces(servers, self.shards, self.links)


@dataclass(frozen=True, slots=True)
class OpticalDevices:
    """Optical devices of one kind.

    Attributes
    ----------
    technology : str
    count : int
        Devices in all, spare panels of look-ahead among them.
    ports : int
        Duplex ports that each needs: a fiber pair for every server's interface that is behind it.
    largest : int
        Ports of the largest device of this technology.
    one_holds_all : bool
        Whether a single such device could hold every interface of every server.
    loss_db : (float, float) or None
        Lowest and highest loss of one connection; None where no source gives it.
    """

    technology: str
    count: int
    ports: int
    largest: int
    one_holds_all: bool
    loss_db: tuple[float, float] | None

    @property
    def fits(self) -> bool:
        """Whether the ports needed are no more than the largest device has."""
        return self.ports <= self.largest


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
    """Interfaces to join, the accounting and options, and the lengths of links.

    Attributes
    ----------
    lengths_m : array of shape (servers,)
        Length of the cable from each server to the middle of the room.
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
        """Link technology."""
        return self.options.link_technology

    def of(self, degree: int) -> "Buying":
        """Return the same for some of the interfaces of every server."""
        return replace(self, interfaces=replace(self.interfaces, degree=degree))

    def fiber_m(self, fibers: float, *, switched: bool = False) -> float:
        """Return the meters of fiber, zero where fibers are not counted."""
        counted = self.rule.fiber_on == "every-fabric" or (switched and self.rule.fiber_on == "fat-trees")
        return fibers * self.length_m if counted else 0


@dataclass(frozen=True)
class Counted:
    """Number of each part, and the trees of whole switches that they make, where those are bought."""

    parts: Mapping[Part, float]
    planes: tuple[Plane, ...] = ()

    def plus(self, other: "Counted") -> "Counted":
        """Return the parts of both."""
        one, two = self.parts, other.parts
        parts = {part: one.get(part, 0) + two.get(part, 0) for part in {**one, **two}}
        return Counted(parts, self.planes + other.planes)


PORT_OF_TECHNOLOGY: Mapping[str, Item] = {
    "patch-panel": "patch_panel_port",
    "manual": "manual_panel_port",
    "3d-mems": "mems_port",
    "piezo": "piezo_port",
    "liquid-crystal": "liquid_crystal_port",
    "silicon-photonics": "silicon_photonics_port",
}
"""Price-list item for a port of each optical technology; other technologies have no price."""


def behind_panels(buying: Buying) -> Counted:
    """Return the parts of interfaces behind patch panels, or the named device, with modules and network cards."""
    return _server_side(buying).plus(_device_ports(buying, buying.options.technology or "patch-panel"))


def behind_circuit_switches(buying: Buying) -> Counted:
    """Return the parts of interfaces behind circuit switches, or the named device, with modules and network cards."""
    return _server_side(buying).plus(_device_ports(buying, buying.options.technology or "3d-mems"))


def behind_both(buying: Buying, circuits: int) -> Counted:
    """Return the parts where ``circuits`` ports per server are behind circuit switches, the others behind panels."""
    panels = _panels(buying.of(buying.interfaces.degree - circuits))
    return _server_side(buying).plus(panels).plus(_circuit_ports(buying.of(circuits)))


def cabled(buying: Buying) -> Counted:
    """Return the parts of cables from server to server, with modules and network cards.

    A cable has an interface at both ends. The paper counts a fiber for every interface.
    """
    size, cables = buying.interfaces, -(-buying.interfaces.total // 2)
    fibers = size.total if buying.rule.switches == "ports" else cables
    if buying.technology == COPPER and buying.rule.fiber_length_m is not None:
        copper = in_copper(np.full(cables, buying.length_m), size.bandwidth_bps)
        if sum(copper.values()) == cables:
            of_speed = {Part(item, size.bandwidth_bps): float(count) for item, count in copper.items()}
            return Counted({**network_cards(buying), **of_speed})
    return _server_side(buying).plus(Counted({Part("fiber_m"): buying.fiber_m(fibers)}))


USUAL_HOST_BPS = 504e9
"""Bandwidth of a server's slot, PCIe 5.0 x16: ports of one card that carry more together are not counted on."""


def network_cards(buying: Buying) -> dict[Part, float]:
    """Return the cheapest network cards of the catalogue that have the interfaces of all servers.

    A card of two or four ports costs as much as a card of one port of their total bandwidth, since the same chip is
    sold as both. Where ports are counted and not whole switches there is a card for each interface, as in the paper.
    """
    size, speed_bps = buying.interfaces, buying.interfaces.bandwidth_bps
    if not buying.rule.nics:
        return {}
    cards = {Part("nic", speed_bps): 1}
    for card in nics() if buying.rule.switches == "whole" else ():
        together_bps = card.ports * card.port_bandwidth_bps
        fits = together_bps <= min(card.host_bandwidth_bps, USUAL_HOST_BPS)
        if card.ports > 1 and card.port_bandwidth_bps >= speed_bps and fits:
            cards[Part("nic", together_bps, f"{card.ports} ports")] = card.ports
    usd = {part: inf if (price := price_of(buying.prices, part)) is None else price for part in cards}
    bought: list[tuple[float, tuple[Part, ...]]] = [(0.0, ())]  # by interfaces: dollars, and cards
    for ports in range(1, size.degree + 1):
        ways = [(*bought[ports - count], part) for part, count in cards.items() if count <= ports]
        bought.append(
            min(((so_far + usd[part], (*others, part)) for so_far, others, part in ways), key=itemgetter(0))
        )
    return {part: size.servers * bought[-1][1].count(part) for part in cards}


def _server_side(buying: Buying) -> Counted:
    size = buying.interfaces
    module = Part(server_module(buying.technology), size.bandwidth_bps)
    return Counted({**network_cards(buying), module: size.total})


def _panels(buying: Buying) -> Counted:
    rule, interfaces = buying.rule, buying.interfaces.total
    fibers = 2 if rule.look_ahead and rule.look_ahead_fiber else 1
    return Counted(
        {
            _port(buying, "patch_panel_port"): (2 if rule.look_ahead else 1) * interfaces,
            Part("optical_switch_1x2"): interfaces if rule.look_ahead else 0,
            Part("fiber_m"): buying.fiber_m(fibers * interfaces),
        }
    )


def _device_ports(buying: Buying, technology: str) -> Counted:
    return _panels(buying) if is_panel(technology) else _circuit_ports(buying)


def _circuit_ports(buying: Buying) -> Counted:
    count = buying.interfaces.total
    return Counted({_port(buying, "ocs_port"): count, Part("fiber_m"): buying.fiber_m(count)})


def _port(buying: Buying, usual: Item) -> Part:
    """Return a port of the chosen technology if it is of the expected kind and has a price, else ``usual``."""
    row = find_optical_switch(buying.options.technology or "patch-panel")
    if is_panel(row.name) != (usual == "patch_panel_port"):
        return Part(usual)
    item = PORT_OF_TECHNOLOGY.get(row.technology, usual)
    product = row.name if row.name != row.technology else ""
    return Part(usual if buying.prices.known_value(item) is None else item, None, product)


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
    joined = size.servers, size.degree, size.bandwidth_bps
    wanted = Wanted(*joined, buying.technology, fiber_usd, buying.rule.tiers, oversubscription, rails)
    planes = chosen_planes(wanted, buying.prices)
    copper = in_copper(buying.lengths_m, size.bandwidth_bps) if buying.technology == COPPER else {}
    counted = Counted(network_cards(buying), planes)
    for plane in planes:
        reached = {item: servers * plane.interfaces for item, servers in copper.items()}
        # the parts of equal trees: switches, what is plugged in at both ends of each link, and the cables
        tree, model, speed_bps = plane.tree, plane.model, buying.interfaces.bandwidth_bps
        optical = tree.hosts - sum(reached.values())
        between = ports_for(tree.leaf_links, model.split) + ports_for(tree.upper_links, model.split)
        ends = ports_for(optical, model.split) + 2 * between
        parts: dict[Part, float] = {
            part: count * tree.switches for part, count in bought_as(model.switch, buying.prices).items()
        }
        parts[Part(server_module(buying.technology), speed_bps)] = optical
        for part in plugged(buying.technology, model.switch, model.split, speed_bps):
            parts[part] = parts.get(part, 0) + ends
        for item, count in reached.items():
            parts[Part(item, speed_bps)] = count
        parts[Part("fiber_m")] = buying.fiber_m(optical + tree.links, switched=True)
        counted = counted.plus(Counted({part: count * plane.count for part, count in parts.items()}))
    return counted


def ports_in_use(buying: Buying, tiers_above: int, oversubscription: float = 1.0) -> Counted:
    """Return the parts of a k-ary fat-tree by port, with this many tiers of links above the first switch."""
    # the links out of first switches: one for `oversubscription` links of servers
    return parts_by_port(buying, tiers_above * ceil(buying.interfaces.total / oversubscription))


def parts_by_port(buying: Buying, upper_links: int) -> Counted:
    """Return the parts for a link per interface into a first switch, and for links between switches.

    Every link has a transceiver at both ends, and a port at each end that is a switch.
    """
    size = buying.interfaces
    links = size.total + upper_links
    return Counted(
        {
            **network_cards(buying),
            Part(server_module(buying.technology), size.bandwidth_bps): 2 * links,
            Part("electrical_port", size.bandwidth_bps): size.total + 2 * upper_links,
            Part("fiber_m"): buying.fiber_m(links, switched=True),
        }
    )


def sharing_interfaces(servers: int, shards: int, links: str) -> int:
    """Return the interfaces per server on one device: two where a duplex ring of odd length must fit.

    Examples
    --------
    >>> [sharing_interfaces(128, 1, links) for links in ("duplex", "directed")], sharing_interfaces(129, 1, "duplex")
    ([1, 1], 2)
    """
    sizes = {servers // shards, -(-servers // shards)}
    return 2 if links == "duplex" and any(size % 2 for size in sizes) else 1


def ports_needed(servers: int, shards: int, sharing: int) -> int:
    """Return the duplex ports that one device needs: one for each interface of a server that shares it."""
    return -(-servers // shards) * sharing


def least_shards(servers: int, ports: int, links: str) -> int:
    """Return the fewest shards such that devices with this many ports hold one.

    Examples
    --------
    Half of 1010 servers are an odd number, whose devices need twice the ports.

    >>> least_shards(1000, 576, "duplex"), least_shards(1010, 576, "duplex"), least_shards(1010, 576, "directed")
    (2, 4, 2)
    """
    return next(
        count
        for count in range(1, servers + 1)
        if ports_needed(servers, count, sharing_interfaces(servers, count, links)) <= max(ports, 2)
    )


def optical_devices(
    usual: tuple[str, ...], interfaces: int, servers: int, cabling: Cabling
) -> OpticalDevices:
    """Return the devices behind this many interfaces of every server.

    They are of the technology that the cabling names, else of the first of ``usual`` that is large enough.

    Raises
    ------
    InvalidInput
        If there is no such technology.
    """
    named = usual if cabling.technology is None else (cabling.technology,)
    share = min(cabling.sharing(servers), interfaces)
    ports = ports_needed(servers, cabling.shards, share)
    rows = [find_optical_switch(name) for name in named]
    row = next((row for row in rows if row.ports >= ports), max(rows, key=lambda row: row.ports))
    count = cabling.shards * -(-interfaces // share)
    if cabling.look_ahead and is_panel(row.name):
        count *= 2
    holds_all = servers * interfaces <= row.ports
    return OpticalDevices(row.name, count, ports, row.ports, holds_all, row.insertion_loss_db)


def regional_devices(
    servers: int, interfaces: int, region_servers: int, technology: str | None
) -> OpticalDevices:
    """Return one device for each region, which any of its servers' interfaces can be joined on."""
    row = find_optical_switch("3d-mems" if technology is None else technology)
    ports = min(servers, region_servers) * interfaces
    count = -(-servers // region_servers)
    return OpticalDevices(row.name, count, ports, row.ports, count == 1, row.insertion_loss_db)


def too_many_ports(row: OpticalDevices, servers: int, cabling: Cabling) -> str:
    """Return the reason why the devices do not fit, with a remedy."""
    ways = [
        f"technology={other.name} has {other.ports}"
        for other in optical_switches()
        if other.ports >= row.ports
        and other.reconfiguration_s <= find_optical_switch(row.technology).reconfiguration_s
    ]
    sharing = cabling.sharing(servers)
    if sharing == 2:
        ways.append("an even number of servers needs half")
    shards = max(
        least_shards(servers, row.largest, cabling.links), -(-servers // max(row.largest // sharing, 1))
    )
    ways.append(f"shards={shards} splits the cluster")
    return (
        f"a device of {row.ports} ports is needed, the largest {row.technology} has {row.largest}; "
        f"{', or '.join(ways)}"
    )


def transceiver_for(bandwidth_bps: float) -> Transceiver | None:
    """Return the catalogue's slowest module that is fast enough, of fewest fibers, and of those reaches least far.

    The price lists mean the cheapest module; that is the one of short reach, which can spare least light.
    """
    listed = [row for row in transceivers() if row.bandwidth_bps >= bandwidth_bps]
    return min(listed, key=lambda row: (row.bandwidth_bps, row.fibers, row.reach_m), default=None)


def light_left_db(loss_db: tuple[float, float] | None, module: Transceiver | None) -> float | None:
    """Return a transceiver's margin after the worst connection, dB; None where a figure is unknown."""
    return None if loss_db is None or module is None else module.loss_budget_db - loss_db[1]
