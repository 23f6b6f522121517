"""FabricPrice, the pricing that each network of the registry declares, and functions that look it up by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from topoopt.base.errors import Infeasible, InvalidInput, check_known
from topoopt.catalog import NETWORKS, Network, optical_switches
from topoopt.pricing.fabric_options import Accounting, FabricOptions
from topoopt.pricing.feasibility import USUAL_CABLING, Realization, Site
from topoopt.pricing.part_counts import Buying, Cabling, Counted, Interfaces, least_shards
from topoopt.pricing.switch_choice import Plane

Note = Callable[[FabricOptions, int, tuple[Plane, ...]], str]
"""Function of how the fabric is built, ports per server and trees of whole switches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPrice:
    """Pricing of a fabric.

    Attributes
    ----------
    count : function of Buying to Counted
        Returns the number of each part.
    realize : function of Site to Realization
        Returns the devices of the fabric, and why it may not be buildable.
    note : str or function
        Caveat for the reader of the bill; see :data:`Note`.
    note_by_port : str, optional
        The caveat where ports are counted, not whole switches.
    optics : tuple of str
        Technologies of its optical devices; the first that is large enough is used.
    interfaces : function of Interfaces to Interfaces
        Returns the interfaces to buy for the bandwidth of those requested.
    """

    count: Callable[[Buying], Counted]
    realize: Callable[[Site], Realization]
    note: str | Note = ""
    note_by_port: str | None = None
    optics: tuple[str, ...] = ()
    interfaces: Callable[[Interfaces], Interfaces] = lambda asked: asked

    def noted(self, rule: Accounting, options: FabricOptions, degree: int, planes: tuple[Plane, ...]) -> str:
        """Return the note of a bill."""
        if rule.switches == "ports" and self.note_by_port is not None:
            return self.note_by_port
        return self.note if isinstance(self.note, str) else self.note(options, degree, planes)


def price_of_fabric(name: str) -> FabricPrice:
    """Return the pricing of the named fabric.

    Raises
    ------
    InvalidInput
        If there is no such fabric.
    """
    check_known("fabric", name, (name,) if name in NETWORKS else NETWORKS)
    return _price(NETWORKS[name])


@cache
def _price(network: Network) -> FabricPrice:
    found: FabricPrice = network.price()
    return found


def realize(
    fabric: str,
    servers: int,
    degree: int,
    bandwidth_bps: float,
    cabling: Cabling = USUAL_CABLING,
    *,
    tiers: int | None = 3,
    options: FabricOptions | None = None,
    planes: tuple[Plane, ...] = (),
) -> Realization:
    """Return the devices and ports of a fabric, its optical loss margin, and reasons why it cannot be built.

    Interface i of every server goes to optical device i of d, so a device has a port for every server. On directed
    links any wiring is then possible: d permutations, one a device. On duplex links a device joins servers in
    pairs; it can do so for rings of even length, which fall apart into two sets of pairs. A ring of odd length does
    not, and needs both its interfaces on one device: with an odd number of servers two interfaces share a device.

    Parameters
    ----------
    cabling
        Optical cabling; by default, ``interfaces_per_device`` is derived as described above.
    tiers
        Tiers of a fat-tree with switches of any radix, as in the paper.
    planes
        Trees of whole switches that are bought in place of those; see :class:`topoopt.pricing.Bill`.

    Raises
    ------
    InvalidInput
        If a name is unknown or a number out of range.

    Examples
    --------
    >>> realize("topoopt", 128, 4, 100e9).optical[0].count, realize("topoopt", 128, 4, 100e9).optical[0].ports
    (8, 128)
    """
    price = price_of_fabric(fabric)
    if servers < 1 or degree < 1:
        raise InvalidInput(f"{fabric}: servers and degree must be >= 1, got {servers} and {degree}")
    if not 1 <= cabling.shards <= servers:
        raise InvalidInput(f"shards: expected 1..{servers}, got {cabling.shards}")
    interfaces = Interfaces(servers, degree, bandwidth_bps)
    return price.realize(Site(fabric, interfaces, cabling, options or FabricOptions(), tiers or 3, planes))


def check_fits_a_panel(fabric: str, servers: int, shards: int = 1, links: str = "duplex") -> None:
    """Refuse a cluster that no optical device can hold; fabrics without such devices always fit.

    Raises
    ------
    Infeasible
        With the number of shards that would fit.
    """
    largest = max(optical_switches(), key=lambda row: row.ports)
    ports = -(-servers // shards)
    if price_of_fabric(fabric).optics and ports > largest.ports:
        split = least_shards(servers, largest.ports, links)
        raise Infeasible(
            f"{fabric}: {servers} servers need {ports} ports on each panel, and the largest ({largest.name}) has "
            f"{largest.ports}; use shards={split} (servers of different shards cannot be "
            "joined), or leave it out of fabrics"
        )
