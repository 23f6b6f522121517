"""Whether a fabric can be built: devices, their ports, which technology holds the fibers, and the light lost."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth
from topoopt.catalog import Transceiver, packet_switches
from topoopt.pricing.fabric_options import REGION_SERVERS, FabricOptions
from topoopt.pricing.part_counts import (
    Cabling,
    Interfaces,
    OpticalDevices,
    is_panel,
    light_left_db,
    optical_devices,
    regional_devices,
    too_many_ports,
    transceiver_for,
)
from topoopt.pricing.switch_choice import Plane


@dataclass(frozen=True, slots=True)
class FatTreeSize:
    """A tree of equal switches for one interface of every server.

    Attributes
    ----------
    radix : int
        Ports of every switch: the paper's k.
    edge, aggregation, core : int
        Whole switches of each tier, from the servers up; 0 where there is no such tier.
    """

    servers: int
    radix: int
    edge: int
    aggregation: int
    core: int

    @property
    def switches(self) -> int:
        """All switches together."""
        return self.edge + self.aggregation + self.core

    @property
    def ports(self) -> int:
        """Ports of all switches, used or not."""
        return self.switches * self.radix


USUAL_CABLING = Cabling()
"""Duplex links, one shard, and look-ahead."""
WIRED_ONCE = "cables from server to server, wired once: every job gets the same topology"
DEVICE_A_REGION = Cabling(links="directed", look_ahead=False, interfaces_per_device=1)
"""Cabling of the servers in a mixnet region."""


@dataclass(frozen=True, slots=True)
class Realization:
    """Devices that a fabric is built of, and reasons why it cannot be built.

    Attributes
    ----------
    optical : tuple of OpticalDevices
    tree : FatTreeSize or None
        One of the trees of packet switches, where the fabric has them and the paper's ports are counted.
    trees : int
        Number of trees: one for every interface of a server.
    planes : tuple of Plane
        Trees of whole switches, where these are bought.
    transceiver : Transceiver or None
        Transceiver in the catalogue for this speed: fewest fibers, then the largest loss margin. None if
        there is none.
    margin_db : float or None
        Optical budget left for fiber, connectors and 1×2 switches after the worst connection; None where unknown.
    remarks : tuple of str
        Assumptions, one sentence each.
    problems : tuple of str
        Reasons why it cannot be built so, each with a remedy.
    """

    fabric: str
    optical: tuple[OpticalDevices, ...] = ()
    tree: FatTreeSize | None = None
    trees: int = 0
    planes: tuple[Plane, ...] = ()
    transceiver: Transceiver | None = None
    margin_db: float | None = None
    remarks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the realization as a mapping."""
        tree = None if self.tree is None else {**asdict(self.tree), "switches": self.tree.switches}
        return {
            "optical": [{**asdict(row), "fits": row.fits} for row in self.optical],
            "trees": self.trees,
            "tree": tree,
            "planes": [plane.to_json() for plane in self.planes],
            "transceiver": None if self.transceiver is None else self.transceiver.name,
            "margin_db": self.margin_db,
            "remarks": list(self.remarks),
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class Site:
    """Interfaces that a fabric has to join, and how it is built.

    Attributes
    ----------
    cabling : Cabling
    tiers : int
        Tiers of a fat-tree with switches of any radix, as in the paper.
    planes : tuple of Plane
        Trees of whole switches that are bought in place of those; see :class:`topoopt.pricing.Bill`.
    """

    fabric: str
    interfaces: Interfaces
    cabling: Cabling
    options: FabricOptions
    tiers: int = 3
    planes: tuple[Plane, ...] = ()


def realize_switches(site: Site, size: FatTreeSize | None = None, *, one_switch: bool = False) -> Realization:
    """Return the trees of packet switches: those bought, else one of ``size`` per interface of a server.

    Parameters
    ----------
    size
        Full bisection in the tiers of the site by default.
    one_switch
        Whether the fabric is called one switch, which a remark then explains.
    """
    if site.planes:
        # trees of whole switches: nothing stands in their way, or there would be no bill
        remarks, planes = [], site.planes
        if one_switch and sum(plane.count for plane in planes) > 1:
            remarks.append("a server's interfaces are on several trees, and its traffic is spread over them")
        if any(plane.model.split > 1 for plane in planes):
            remarks.append("ports of switches are split by breakout cables")
        if any(plane.spare_ports for plane in planes):
            remarks.append("spare ports of switches are paid for")
        return Realization(
            site.fabric, trees=sum(plane.count for plane in planes), planes=planes, remarks=tuple(remarks)
        )
    return _tree(site, size or fat_tree_size(site.interfaces.servers, site.tiers), one_switch)


def of_technologies(usual: tuple[str, ...]) -> Callable[[Site], Realization]:
    """Return a builder with optical devices of the first of these technologies that is large enough."""

    def realize(site: Site) -> Realization:
        size = site.interfaces
        return realize_optical(site, optical_devices(usual, size.degree, size.servers, site.cabling))

    return realize


def realize_optical(site: Site, *devices: OpticalDevices) -> Realization:
    """Return a fabric of optical devices, with the remaining optical budget and its violations."""
    interfaces, cabling = site.interfaces, site.cabling
    module = transceiver_for(interfaces.bandwidth_bps)
    left_db = [light_left_db(row.loss_db, module) for row in devices]
    known_db = [value for value in left_db if value is not None]
    margin_db = min(known_db) if len(known_db) == len(devices) else None
    remarks, problems = list[str](), list[str]()
    if cabling.links == "duplex":
        remarks, problems = _ends_of_cables(-(-interfaces.servers // cabling.shards), interfaces.degree)
    for row in devices:
        if not row.fits:
            problems.append(too_many_ports(row, interfaces.servers, cabling))
    if margin_db is not None and margin_db < 0:
        assert module is not None
        problems.append(
            f"a connection may lose {module.loss_budget_db - margin_db:g} dB and {module.name} can spare "
            f"{module.loss_budget_db:g} dB; take a technology that loses less (technology=NAME), or amplifiers"
        )
    return Realization(
        site.fabric,
        devices,
        transceiver=module,
        margin_db=margin_db,
        remarks=(*remarks, *_optical_remarks(devices, module, interfaces, cabling)),
        problems=tuple(problems),
    )


def _optical_remarks(
    devices: tuple[OpticalDevices, ...], module: Transceiver | None, interfaces: Interfaces, cabling: Cabling
) -> Iterator[str]:
    sharing = min(interfaces.degree, cabling.sharing(interfaces.servers))
    if sharing > 1:
        yield f"rings of odd length need both interfaces on one device: {sharing} of each server share one"
    if cabling.shards > 1:
        yield f"{cabling.shards} shards: servers of different shards cannot be joined, and no job spans them"
    if module is None:
        speed = format_bandwidth(interfaces.bandwidth_bps)
        yield f"the catalogue has no transceiver of {speed}: light not checked"
    elif module.fibers > 2:
        pairs = module.fibers // 2
        yield f"{module.name} has {pairs} fiber pairs, each takes a port: the bill counts one a link"
    if cabling.look_ahead and any(is_panel(row.technology) for row in devices):
        yield "two 1×2 switches on every link lose light, too; no source says how much"
    for row in devices:
        if row.loss_db is None:
            yield f"no source gives the loss of {row.technology}: light not checked"


def realize_regions(site: Site, circuits: int) -> Realization:
    """Return trees for the electrical interfaces, and one optical device per region for ``circuits`` of each server."""
    interfaces = site.interfaces
    electrical = replace(site, interfaces=replace(interfaces, degree=interfaces.degree - circuits))
    tree = realize_switches(electrical)
    device = regional_devices(interfaces.servers, circuits, REGION_SERVERS, site.cabling.technology)
    optical = realize_optical(replace(site, cabling=DEVICE_A_REGION), device)
    regions = f"regions of {REGION_SERVERS} servers, each with an optical device of its own"
    return replace(
        optical,
        **fields_of(tree, "tree", "trees"),
        planes=site.planes,
        remarks=(regions, *optical.remarks, *tree.remarks),
        problems=optical.problems + tree.problems,
    )


def _tree(site: Site, size: FatTreeSize, one_switch: bool) -> Realization:
    interfaces = site.interfaces
    speed = format_bandwidth(interfaces.bandwidth_bps)
    fast = [row for row in packet_switches() if row.port_bandwidth_bps >= interfaces.bandwidth_bps]
    fitting = [row for row in fast if row.ports >= size.radix]
    remarks, problems = [], list[str]()
    if fitting:
        part = min(fitting, key=lambda row: (row.ports, row.port_bandwidth_bps))
        remarks.append(f"{size.radix} ports of {speed}: {part.name} has {part.ports}")
    else:
        largest = max((row.ports for row in fast), default=0)
        have = f"the largest of the catalogue has {largest}" if largest else "the catalogue has none so fast"
        problems.append(
            f"switches of {size.radix} ports of {speed} are needed, {have}; "
            "use more tiers or more interfaces of less bandwidth"
        )
    if one_switch:
        remarks.append("no switch of so many ports exists: built as trees without blocking")
    if interfaces.degree > 1:
        remarks.append("each interface of a server has a tree of its own")
    remarks.append("the bill counts ports in use, not whole switches")
    return Realization(
        site.fabric, tree=size, trees=interfaces.degree, remarks=tuple(remarks), problems=tuple(problems)
    )


def realize_cables(site: Site) -> Realization:
    """Return direct cables between servers; only their ends can be a problem."""
    remarks, problems = _ends_of_cables(site.interfaces.servers, site.interfaces.degree)
    return Realization(site.fabric, remarks=(WIRED_ONCE, *remarks), problems=tuple(problems))


def _ends_of_cables(servers: int, degree: int) -> tuple[list[str], list[str]]:
    """Return remarks and problems of cables between this many servers."""
    if degree == 1 and servers > 2:
        return [], [f"1 duplex interface joins servers in pairs, not {servers} to each other; use 2 or more"]
    if servers * degree % 2:
        return [f"{servers} servers of {degree} interfaces have an odd number of ends: one stays free"], []
    return [], []


def fat_tree_size(servers: int, tiers: int = 3, oversubscription: float = 1.0) -> FatTreeSize:
    """Return the tree of the smallest switches that joins the servers.

    A first switch of k ports has as many for servers as leave one uplink for ``oversubscription`` of them. In
    three tiers k/2 of them make a pod with one aggregation switch for each of their uplinks, and k pods meet in the
    core: k³/4 servers at full bisection, k³/3 at 2:1. In two tiers k first switches meet in the core.

    Examples
    --------
    >>> fat_tree_size(128)
    FatTreeSize(servers=128, radix=8, edge=32, aggregation=32, core=16)
    >>> fat_tree_size(128, tiers=2), fat_tree_size(128, tiers=1).radix
    (FatTreeSize(servers=128, radix=16, edge=16, aggregation=0, core=8), 128)
    """
    if servers < 1:
        raise InvalidInput(f"fat-tree: servers must be at least 1, got {servers}")
    radix = 2
    while _most_servers(radix, tiers, oversubscription) < servers:
        radix += 2
    if tiers == 1:
        return FatTreeSize(servers, radix, 1, 0, 0)
    below = _below(radix, oversubscription)
    above = radix - below
    edge = -(-servers // below)
    if edge == 1:
        return FatTreeSize(servers, radix, 1, 0, 0)
    if tiers == 2:
        return FatTreeSize(servers, radix, edge, 0, -(-edge * above // radix))
    pods = -(-edge // (radix // 2))
    core = 0 if pods == 1 else -(-pods * above // 2)
    return FatTreeSize(servers, radix, edge, pods * above, core)


def _most_servers(radix: int, tiers: int, oversubscription: float) -> int:
    below = _below(radix, oversubscription)
    return {1: radix, 2: radix * below, 3: radix * (radix // 2) * below}[tiers]


def _below(radix: int, oversubscription: float) -> int:
    """Return the server ports of a first-tier switch; at least one port goes up."""
    return min(int(radix * oversubscription / (1 + oversubscription) + 1e-9), radix - 1)
