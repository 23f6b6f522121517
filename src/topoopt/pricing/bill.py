"""The bill of materials of a fabric: counts, prices and watts of its parts, and the lengths of its cables."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, find_optical_switch, packet_switches
from topoopt.pricing.fabric_options import CO_PACKAGED, COPPER, PLUGGABLE, Accounting, FabricOptions
from topoopt.pricing.fabric_price import price_of_fabric
from topoopt.pricing.part_counts import Buying, Interfaces
from topoopt.pricing.price_lists import ITEMS, Item, Part, PartTable, find_power
from topoopt.pricing.switch_choice import Plane


@dataclass(frozen=True, slots=True)
class RoomLayout:
    """Positions of racks and cables. The defaults are assumptions; check them for your room.

    Servers fill racks, racks fill rows, one after the other. Switches and panels are in the middle of the room. A
    cable goes up to a tray, along the row and across the rows, down again, and is a little longer than that.

    Attributes
    ----------
    servers_per_rack : int
        Four servers of eight accelerators draw some 40 kW, the limit of an air-cooled rack.
    racks_per_row : int
    rack_width_m, row_pitch_m : float
        Distance between racks in a row, and between rows including the aisle.
    rise_m : float
        Height of the tray above the middle of a rack.
    slack_m : float
        Slack of a cable, both ends together.
    within_rack_m : float
        Length of a cable between two servers in one rack.
    """

    servers_per_rack: int = 4
    racks_per_row: int = 16
    rack_width_m: float = 0.6
    row_pitch_m: float = 3.0
    rise_m: float = 2.0
    slack_m: float = 1.0
    within_rack_m: float = 2.0

    def __post_init__(self) -> None:
        if self.servers_per_rack < 1 or self.racks_per_row < 1:
            raise InvalidInput(
                "room layout: servers_per_rack and racks_per_row must be at least 1, got "
                f"{self.servers_per_rack} and {self.racks_per_row}"
            )


USUAL_ROOM = RoomLayout()
SPREADS: Mapping[str, tuple[float, float]] = {
    "published": (0.8, 1.25),
    "derived": (0.67, 1.5),
    "recalled": (0.5, 2.0),
    "assumed": (0.5, 2.0),
}
"""Low and high over the listed value if no source gives them, by the confidence in it. Assumed: shops and papers that
were found for one part of one year are as far apart as ``published``."""


@dataclass(frozen=True, slots=True)
class BillLine:
    """One kind of part. Fiber is counted in meters.

    Attributes
    ----------
    unit_usd, total_usd : float or None
        None where the price list has none.
    unit_low_usd, unit_high_usd : float or None
        Range of the unit price.
    bandwidth_bps : float or None
        Speed of the part, None where it has none.
    basis : str
        Derivation of a price that is not listed: the speeds between which it is interpolated.
    unit_w, total_w : float or None
        None where unknown.
    name : str
        Switch that a port is of, empty for all else.
    """

    item: Item
    count: float
    unit_usd: float | None
    total_usd: float | None
    bandwidth_bps: float | None
    basis: str
    unit_w: float | None
    total_w: float | None
    name: str = ""
    unit_low_usd: float | None = None
    unit_high_usd: float | None = None

    @property
    def part(self) -> Part:
        """Item, speed and name of the part."""
        return Part(self.item, self.bandwidth_bps, self.name)


@dataclass(frozen=True, slots=True)
class Bill:
    """Cost of a fabric, with the price list and the accounting used.

    Attributes
    ----------
    degree, bandwidth_bps
        Interfaces of a server, and the bandwidth of each.
    prices, power : str
        Names of the tables.
    note : str
        Caveat for the reader; empty if there is none.
    planes : tuple of Plane
        Trees of whole switches that are bought; empty where there are none, or ports are counted.
    fiber_length_m : float
        Mean length of a link, given or from the positions of servers.
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
    planes: tuple[Plane, ...] = ()
    fiber_length_m: float = 0.0

    @property
    def cost_usd(self) -> float | None:
        """Sum of all lines, None where the price of a part is not known."""
        return None if self.price_missing else self.known_usd

    @property
    def known_usd(self) -> float:
        """Dollars of the lines whose price is known."""
        return sum(line.total_usd for line in self.lines if line.total_usd is not None)

    @property
    def cost_parts_usd(self) -> dict[str, tuple[float, float, float]]:
        """Low, listed and high dollars of all parts of a kind."""
        sums: dict[str, Floats] = {}
        for line in self.lines:
            if line.unit_usd is not None:
                each = np.array([line.unit_low_usd, line.unit_usd, line.unit_high_usd], np.float64)
                sums[line.item] = sums.get(line.item, np.zeros(3)) + line.count * each
        return {item: (low, listed, high) for item, (low, listed, high) in sums.items()}

    @property
    def price_missing(self) -> tuple[str, ...]:
        """Parts without a price in the list, with their speed, which leave the bill open."""
        return tuple(line.part.words for line in self.lines if line.unit_usd is None)

    @property
    def cost_per_server_usd(self) -> float | None:
        """The sum divided by the servers."""
        cost_usd = self.cost_usd
        return None if cost_usd is None else cost_usd / self.servers

    @property
    def spare_ports(self) -> int:
        """Ports of switches that are paid for and free."""
        return sum(plane.spare_ports for plane in self.planes)

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
        """Parts without known power, with their speed."""
        return tuple(line.part.words for line in self.lines if line.unit_w is None)


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
    """Return the cost and power of a fabric's network, without the servers.

    Parameters
    ----------
    fabric
        A name of :data:`topoopt.catalog.NETWORKS`.
    bandwidth_bps
        Bandwidth of one interface. Where ports are counted, prices between listed speeds are interpolated; else the
        next faster part is bought, as its line states.
    accounting
        Parts that are counted; everything by default. Power is that of the parts counted.
    options
        Options for how the fabric is built.
    power
        Watts of parts; makers' typical figures by default.

    Raises
    ------
    InvalidInput
        If the fabric is unknown, or a choice does not fit the degree.
    Infeasible
        If no switches of the catalogue join the servers.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section on cost: a three-tier k-ary fat-tree of n = k³/4
           servers has 5n switch ports, 3n links and 6n transceivers. The counts are per server, so they hold for
           any n. The accounting ``paper`` counts these.

    Examples
    --------
    >>> from topoopt.pricing import find_accounting, find_prices
    >>> bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022"), find_accounting("paper")).cost_per_server_usd
    5208.0
    """
    price = price_of_fabric(fabric)
    if servers < 1 or degree < 1 or not 0 < bandwidth_bps < float("inf"):
        raise InvalidInput(
            "bill: servers and degree must be >= 1 and bandwidth_bps positive, "
            f"got {servers}, {degree} and {bandwidth_bps}"
        )
    rule, watts, chosen = accounting or Accounting(), power or find_power(), options or FabricOptions()
    interfaces = price.interfaces(Interfaces(servers, degree, bandwidth_bps))
    if rule.switches == "ports" and chosen.link_technology in (CO_PACKAGED, COPPER):
        raise InvalidInput(
            f"link_technology {chosen.link_technology}: needs whole switches, and accounting {rule.name} counts "
            "ports; use accounting complete"
        )
    lengths_m = lengths_to_middle_m(interfaces.servers)
    length_m = rule.fiber_length_m
    if length_m is not None:
        lengths_m = lengths_m * 0 + length_m
    elif NETWORKS[fabric].cabled:
        length_m = mean_between_servers_m(interfaces.servers)
    else:
        length_m = float(lengths_m.mean())
    buying = Buying(interfaces, rule, chosen, prices, lengths_m, length_m)
    counted = price.count(buying)
    parts = sorted(counted.parts.items(), key=lambda one: _place(one[0]))
    network = NETWORKS[fabric]
    notes = [price.noted(rule, chosen, degree, counted.planes)]
    if chosen.link_technology != PLUGGABLE and not network.switched:
        if chosen.link_technology == CO_PACKAGED:
            notes.append("no packet switches: modules at servers are pluggable")
        elif chosen.link_technology == COPPER and not network.cabled:
            notes.append("circuits are of light: no copper")
    return Bill(
        fabric,
        servers,
        degree,
        bandwidth_bps,
        prices.name,
        watts.name,
        rule,
        tuple(_line(part, count, prices, watts, rule) for part, count in parts if count),
        "; ".join(note for note in notes if note),
        counted.planes,
        buying.length_m,
    )


def _place(part: Part) -> tuple[int, float, str]:
    return ITEMS.index(part.item), part.bandwidth_bps or 0.0, part.name


def _line(part: Part, count: float, prices: PartTable, power: PartTable, rule: Accounting) -> BillLine:
    sold = rule.switches == "whole"
    unit_usd = prices.known_value(part.item, part.bandwidth_bps, part.name, sold)
    unit_w = _watts(part, power)
    ends = price_range(prices, part, sold)
    count = round(count, 6)  # meters of fiber of all planes together
    return BillLine(
        part.item,
        count,
        unit_usd,
        None if unit_usd is None else count * unit_usd,
        part.bandwidth_bps,
        prices.basis(part.item, part.bandwidth_bps, sold) if part.bandwidth_bps else "",
        unit_w,
        None if unit_w is None else count * unit_w,
        part.name,
        *([None, None] if unit_usd is None else [end * unit_usd for end in ends]),
    )


def price_range(prices: PartTable, part: Part, sold: bool = False) -> tuple[float, float]:
    """Return the least and the most that a part may cost, over its price; see :data:`SPREADS`."""
    lows, highs = [], []
    for row in prices.rows_behind(part.item, part.bandwidth_bps, part.name, sold):
        low, high = SPREADS.get(row.confidence, SPREADS["recalled"]) if row.value else (1.0, 1.0)
        lows.append(low if row.low is None else row.low / row.value)
        highs.append(high if row.high is None else row.high / row.value)
    return fmean(lows or [1.0]), fmean(highs or [1.0])


def _watts(part: Part, power: PartTable) -> float | None:
    """Return the watts of a part: an optical product's own; a switch without a row draws as much as its ports."""
    if part.name and part.item != "switch" and part.bandwidth_bps is None:
        product = find_optical_switch(part.name)
        if product.watts is not None:
            return product.watts / product.ports
    known = power.known_value(part.item, part.bandwidth_bps, part.name)
    if known is not None or part.item != "switch":
        return known
    switch = next(row for row in packet_switches() if row.name == part.name)
    of_ports: tuple[Item, ...] = ("electrical_port",)
    if switch.optics == CO_PACKAGED:
        of_ports = ("electrical_port", "co_packaged_port")
    each_w = [power.known_value(item, switch.port_bandwidth_bps) for item in of_ports]
    return None if None in each_w else switch.ports * sum(watts or 0.0 for watts in each_w)


def lengths_to_middle_m(servers: int, room: RoomLayout = USUAL_ROOM) -> Floats:
    """Return the cable from each server to the middle of the room, shape (servers,).

    Examples
    --------
    One rack: up and down 2 m each, and a meter of slack. Four racks stand 0.3 and 0.9 m from the middle.

    >>> lengths_to_middle_m(4).tolist(), lengths_to_middle_m(16)[::4].tolist()
    ([5.0, 5.0, 5.0, 5.0], [5.9, 5.3, 5.3, 5.9])
    """
    x_m, y_m = _places(servers, room)
    return np.round(_vertical_m(room) + np.abs(x_m) + np.abs(y_m), 6)


def mean_between_servers_m(servers: int, room: RoomLayout = USUAL_ROOM) -> float:
    """Return the mean cable between two different servers.

    Examples
    --------
    Two racks side by side: of seven other servers three are in the own rack (2 m), four in the next (5.6 m).

    >>> round(mean_between_servers_m(8), 4), round((3 * 2 + 4 * 5.6) / 7, 4), mean_between_servers_m(1)
    (4.0571, 4.0571, 2.0)
    """
    if servers < 2:
        return room.within_rack_m
    x_m, y_m = _places(servers, room)
    rack = np.arange(servers) // room.servers_per_rack
    # ordered pairs of one rack, each with itself too
    alike = float((np.bincount(rack).astype(float) ** 2).sum())
    pairs = float(servers) ** 2
    apart_m = (pairs - alike) * _vertical_m(room) + _sum_of_distances(x_m) + _sum_of_distances(y_m)
    return (apart_m + (alike - servers) * room.within_rack_m) / (pairs - servers)


def _places(servers: int, room: RoomLayout) -> tuple[Floats, Floats]:
    """Return the position of each server: along and across the rows, from the middle of the room."""
    rack = np.arange(servers) // room.servers_per_rack
    racks = -(-servers // room.servers_per_rack)
    wide, rows = min(racks, room.racks_per_row), -(-racks // room.racks_per_row)
    x_m = (rack % room.racks_per_row - (wide - 1) / 2) * room.rack_width_m
    y_m = (rack // room.racks_per_row - (rows - 1) / 2) * room.row_pitch_m
    return x_m.astype(np.float64), y_m.astype(np.float64)


def _vertical_m(room: RoomLayout) -> float:
    return 2 * room.rise_m + room.slack_m


def _sum_of_distances(at_m: Floats) -> float:
    """Return the distances of all ordered pairs, added up."""
    ordered = np.sort(at_m)
    count = len(ordered)
    return float(2 * ((2 * np.arange(count) - count + 1) * ordered).sum())
