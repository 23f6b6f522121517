"""The bill of materials of a fabric: how many of each part, what they cost and what they draw."""

from dataclasses import dataclass

from topoopt.cost.accounting import Accounting
from topoopt.cost.counts import PRICED_FABRICS, Interfaces, bought_interfaces
from topoopt.cost.fabric_options import RAIL_LEAF_PORTS, FabricOptions
from topoopt.cost.part_files import find_power
from topoopt.cost.part_table import SPEED_ITEMS, Item, PartTable
from topoopt.errors import InvalidInput, check_known
from topoopt.units import format_bandwidth


@dataclass(frozen=True, slots=True)
class BillLine:
    """One kind of part. Fiber is counted in meters.

    Attributes
    ----------
    bandwidth_bps : float or None
        Speed of the part, None where it has none.
    basis : str
        How a price comes about that is not listed as it is: between which speeds it is interpolated.
    unit_w, total_w : float or None
        None where nobody's figure is known.
    """

    item: Item
    count: float
    unit_usd: float
    total_usd: float
    bandwidth_bps: float | None
    basis: str
    unit_w: float | None
    total_w: float | None


@dataclass(frozen=True, slots=True)
class Bill:
    """What a fabric costs, with the price list and the accounting that it was made by.

    Attributes
    ----------
    degree, bandwidth_bps
        Interfaces of a server, and the bandwidth of each.
    prices, power : str
        Names of the tables.
    note : str
        What the reader should know of the figure, empty if nothing.
    """

    fabric: str
    servers: int
    degree: int
    bandwidth_bps: float
    prices: str
    power: str
    accounting: Accounting
    lines: tuple[BillLine, ...]
    note: str = ""

    @property
    def cost_usd(self) -> float:
        """Sum of all lines."""
        return sum(line.total_usd for line in self.lines)

    @property
    def cost_per_server_usd(self) -> float:
        """The sum divided by the servers."""
        return self.cost_usd / self.servers

    @property
    def power_w(self) -> float | None:
        """Watts of all lines together, None where the figure of a part is missing."""
        return None if self.power_missing else self.known_power_w

    @property
    def known_power_w(self) -> float:
        """Watts of the lines whose figure is known."""
        return sum(line.total_w for line in self.lines if line.total_w is not None)

    @property
    def power_missing(self) -> tuple[str, ...]:
        """The parts whose watts nobody's figure says, with their speed."""
        return tuple(
            line.item + (f" of {format_bandwidth(line.bandwidth_bps)}" if line.bandwidth_bps else "")
            for line in self.lines
            if line.unit_w is None
        )


def bill_of_materials(
    fabric: str,
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PartTable,
    accounting: Accounting | None = None,
    options: FabricOptions | None = None,
    power: PartTable | None = None,
) -> Bill:
    """Return what the network of a fabric costs and draws, without the servers.

    Parameters
    ----------
    fabric
        A name of :data:`PRICED_FABRICS`. ``ideal-switch`` and ``fat-tree`` are both priced as a full-bisection
        fat-tree of ``degree`` interfaces a server, ``oversub-fat-tree`` as one with fewer links above the first
        switch.
    bandwidth_bps
        Bandwidth of one interface; prices between listed speeds are interpolated, and the line says so.
    accounting
        What is counted; everything by default. Power is that of the parts counted.
    options
        How the fabric is built, where there is a choice.
    power
        Watts of parts; makers' typical figures by default.

    Raises
    ------
    InvalidInput
        If the fabric is unknown, the bandwidth lies above the price list, or a choice does not go with the degree.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section on cost: a three-tier k-ary fat-tree of n = k³/4
           servers has 5n switch ports, 3n links and 6n transceivers. The counts are per server, so they serve
           any n.

    Examples
    --------
    >>> from topoopt.cost import find_prices
    >>> bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022")).cost_per_server_usd
    5208.0
    """
    check_known("fabric", fabric, PRICED_FABRICS)
    if servers < 1 or degree < 1 or not 0 < bandwidth_bps < float("inf"):
        raise InvalidInput(
            "bill: servers and degree must be >= 1 and bandwidth_bps positive, "
            f"got {servers}, {degree} and {bandwidth_bps}"
        )
    rule, watts = accounting or Accounting(), power or find_power()
    interfaces = bought_interfaces(fabric, Interfaces(servers, degree, bandwidth_bps))
    chosen = options or FabricOptions()
    counts = PRICED_FABRICS[fabric](interfaces, rule, chosen)
    lines = tuple(
        _line(item, count, interfaces.bandwidth_bps, prices, watts) for item, count in counts.items() if count
    )
    note = _note(fabric, degree, chosen)
    return Bill(fabric, servers, degree, bandwidth_bps, prices.name, watts.name, rule, lines, note)


def _line(item: Item, count: float, bandwidth_bps: float, prices: PartTable, power: PartTable) -> BillLine:
    speed = bandwidth_bps if item in SPEED_ITEMS else None
    unit_usd, unit_w = prices.price_usd(item, speed), power.known_value(item, speed)
    total_w = None if unit_w is None else count * unit_w
    return BillLine(
        item, count, unit_usd, count * unit_usd, speed, prices.basis(item, speed), unit_w, total_w
    )


def _note(fabric: str, degree: int, options: FabricOptions) -> str:
    if fabric == "topoopt-hybrid":
        switched = options.hybrid_ocs_interfaces(degree)
        return f"{switched} of {degree} interfaces behind optical circuit switches, the others behind panels"
    if fabric == "oversub-fat-tree":
        return f"{options.oversubscription:g}:1 above the first switch"
    if fabric == "mixnet":
        electrical = options.mixnet_electrical_interfaces(degree)
        return f"{electrical} of {degree} interfaces on a full-bisection fat-tree, the others on circuit switches"
    return _NOTES.get(fabric, "")


_NOTES = {
    "ideal-switch": "priced as a full-bisection fat-tree, per interface",
    "rail": f"leaves of {RAIL_LEAF_PORTS} ports, half of them up; no spine where a rail has one leaf",
    "full-mesh": "an interface for every other server; the bandwidth of all interfaces asked for is shared by them",
    "sip-ml": "no bill of SiP-ML is published: priced as an optical circuit switch",
    "ocs-reconfig": "priced as an optical circuit switch",
}
