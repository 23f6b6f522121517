"""The bill of materials of a fabric: how many of each part, and what they cost together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.cost.accounting import Accounting
from topoopt.cost.prices import SPEED_ITEMS, Item, PriceTable
from topoopt.errors import InvalidInput, unknown_name

Counts = dict[Item, float]


@dataclass(frozen=True, slots=True)
class BillLine:
    """One kind of part. Fiber is counted in meters."""

    item: str
    count: float
    unit_usd: float
    total_usd: float


@dataclass(frozen=True, slots=True)
class Bill:
    """What a fabric costs, with the price list and the accounting that it was made by.

    Attributes
    ----------
    degree, bandwidth_bps
        Interfaces of a server, and the bandwidth of each.
    prices : str
        Name of the price list.
    note : str
        What the reader should know of the figure, empty if nothing.
    """

    fabric: str
    servers: int
    degree: int
    bandwidth_bps: float
    prices: str
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


def bill_of_materials(
    fabric: str,
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PriceTable,
    accounting: Accounting | None = None,
) -> Bill:
    """Return what the network of a fabric costs, without the servers.

    Parameters
    ----------
    fabric
        A name of :data:`PRICED_FABRICS`. ``ideal-switch`` and ``fat-tree`` are both priced as a full-bisection
        fat-tree of ``degree`` interfaces a server, ``oversub-fat-tree`` as one with half the links above the
        first switch.
    bandwidth_bps
        Bandwidth of one interface; prices between listed speeds are interpolated.
    accounting
        What is counted; everything by default.

    Raises
    ------
    InvalidInput
        If the fabric is unknown, or the bandwidth lies above the price list.

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
    if fabric not in PRICED_FABRICS:
        raise unknown_name("fabric", fabric, PRICED_FABRICS)
    if servers < 1 or degree < 1 or not bandwidth_bps > 0:
        raise InvalidInput(
            "bill: servers and degree must be >= 1 and bandwidth_bps positive, "
            f"got {servers}, {degree} and {bandwidth_bps}"
        )
    rule = accounting or Accounting()
    counts = PRICED_FABRICS[fabric](servers * degree, rule)
    lines = []
    for item, count in counts.items():
        if count:
            unit_usd = prices.unit_usd(item, bandwidth_bps if item in SPEED_ITEMS else None)
            lines.append(BillLine(item, count, unit_usd, count * unit_usd))
    note = _NOTES.get(fabric, "")
    return Bill(fabric, servers, degree, bandwidth_bps, prices.name, rule, tuple(lines), note)


def _patch_panel(interfaces: int, rule: Accounting) -> Counts:
    panels = 2 if rule.look_ahead else 1
    fibers = 2 if rule.look_ahead and rule.look_ahead_fiber else 1
    return {
        **_server_side(interfaces, rule),
        "patch_panel_port": panels * interfaces,
        "optical_switch_1x2": interfaces if rule.look_ahead else 0,
        "fiber_m": _fiber_m(fibers * interfaces, rule),
    }


def _optical_switch(interfaces: int, rule: Accounting) -> Counts:
    fiber_m = _fiber_m(interfaces, rule)
    return {**_server_side(interfaces, rule), "ocs_port": interfaces, "fiber_m": fiber_m}


def _direct(interfaces: int, rule: Accounting) -> Counts:
    # The paper counts a fiber for every interface, although two interfaces share a cable.
    return {**_server_side(interfaces, rule), "fiber_m": _fiber_m(interfaces, rule)}


def _full_bisection(interfaces: int, rule: Accounting) -> Counts:
    return _fat_tree(interfaces, (rule.tiers - 1) * interfaces, rule)


def _oversubscribed(interfaces: int, rule: Accounting) -> Counts:
    return _fat_tree(interfaces, (rule.tiers - 1) * -(-interfaces // 2), rule)


def _fat_tree(interfaces: int, upper_links: int, rule: Accounting) -> Counts:
    links = interfaces + upper_links
    return {
        "nic": interfaces if rule.nics else 0,
        "transceiver": 2 * links,
        "electrical_port": interfaces + 2 * upper_links,
        "fiber_m": links * rule.fiber_length_m if rule.fiber_on != "none" else 0,
    }


def _server_side(interfaces: int, rule: Accounting) -> Counts:
    return {"nic": interfaces if rule.nics else 0, "transceiver": interfaces}


def _fiber_m(fibers: int, rule: Accounting) -> float:
    return fibers * rule.fiber_length_m if rule.fiber_on == "every-fabric" else 0


PRICED_FABRICS: Mapping[str, Callable[[int, Accounting], Counts]] = {
    "topoopt": _patch_panel,
    "topoopt-ocs": _optical_switch,
    "ideal-switch": _full_bisection,
    "fat-tree": _full_bisection,
    "oversub-fat-tree": _oversubscribed,
    "expander": _direct,
    "torus": _direct,
    "sip-ml": _optical_switch,
    "ocs-reconfig": _optical_switch,
}
"""How many of each part a fabric takes for all interfaces of all its servers."""

_NOTES = {
    "ideal-switch": "priced as a full-bisection fat-tree, per interface",
    "sip-ml": "no bill of SiP-ML is published: priced as an optical circuit switch",
    "ocs-reconfig": "priced as an optical circuit switch",
}
