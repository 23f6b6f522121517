"""The fat-tree that the same money buys: the fair opponent of a direct-connect fabric."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.units import format_bandwidth
from topoopt.pricing.accounting import Accounting
from topoopt.pricing.bill import bill_of_materials
from topoopt.pricing.fabric_options import FabricOptions
from topoopt.pricing.part_table import PartTable
from topoopt.pricing.ratios import PUBLISHED_IDEAL_OVER_TOPOOPT


@dataclass(frozen=True, slots=True)
class EquivalentFatTree:
    """A full-bisection fat-tree for the price of a TopoOpt fabric.

    Attributes
    ----------
    interfaces : int
        Interfaces of a server.
    interface_bandwidth_bps : float
        Bandwidth of each; between two listed speeds it is interpolated.
    cost_per_server_usd : float
        What it costs; less than the budget where the money ends between two choices.
    budget_per_server_usd : float
        What TopoOpt costs.
    note : str
        How the speed was found.
    """

    interfaces: int
    interface_bandwidth_bps: float
    cost_per_server_usd: float
    budget_per_server_usd: float
    note: str

    @property
    def server_bandwidth_bps(self) -> float:
        """Bandwidth of all interfaces of a server together."""
        return self.interfaces * self.interface_bandwidth_bps


def published_equivalent_bandwidth(degree: int, bandwidth_bps: float) -> float:
    """Return the bits per second and server that the paper's figures give the fat-tree: d·B / 3.2.

    Examples
    --------
    >>> published_equivalent_bandwidth(4, 100e9)
    125000000000.0
    """
    return degree * bandwidth_bps / PUBLISHED_IDEAL_OVER_TOPOOPT


def equivalent_fat_tree(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PartTable,
    accounting: Accounting | None = None,
    options: FabricOptions | None = None,
) -> EquivalentFatTree:
    """Return the fastest full-bisection fat-tree that costs no more than TopoOpt on the same servers.

    Its servers have up to ``degree`` equal interfaces. Of whole switches only listed speeds can be bought. By the
    port a price is taken at the listed speeds and interpolated between them, as if there were parts of any speed.
    Where not even the cheapest interface can be paid, servers share one, and the note says so.

    Raises
    ------
    InvalidInput
        If TopoOpt has no price, ``bandwidth_bps`` lies above the price list, or no speed is fully listed.

    Examples
    --------
    >>> from topoopt.pricing import find_accounting, find_prices
    >>> tree = equivalent_fat_tree(128, 4, 100e9, find_prices("2022"), find_accounting("paper"))
    >>> round(tree.server_bandwidth_bps / 1e9)
    200
    """
    rule, chosen = accounting or Accounting(), options or FabricOptions()
    own = bill_of_materials("topoopt", servers, degree, bandwidth_bps, prices, rule, chosen)
    budget_usd = own.cost_per_server_usd
    if budget_usd is None:
        raise InvalidInput(prices.why_unknown(next(line.part for line in own.lines if line.unit_usd is None)))

    def listed(interfaces: int, most_usd: float = inf) -> list[tuple[float, float]]:
        return _listed(servers, interfaces, prices, rule, chosen, most_usd)

    one = listed(1)
    if not one:
        raise InvalidInput(f"prices {prices.name}: no speed has a NIC, a transceiver and a port; add rows")
    cheapest_bps, cheapest_usd = min(one, key=lambda row: (row[1], -row[0]))
    if budget_usd < cheapest_usd:
        note = (
            f"less than one interface of {format_bandwidth(cheapest_bps)}, the cheapest listed: a share of it"
        )
        return EquivalentFatTree(1, cheapest_bps * budget_usd / cheapest_usd, budget_usd, budget_usd, note)

    def fastest(interfaces: int) -> tuple[float, float]:
        if rule.switches == "ports":
            return _fastest_between(listed(interfaces), budget_usd)
        return _fastest_listed(listed(interfaces, budget_usd), budget_usd)

    choices = [(count, *fastest(count)) for count in range(1, degree + 1)]
    count, speed_bps, usd = max(choices, key=lambda choice: (choice[0] * choice[1], -choice[2], -choice[0]))
    note = f"interpolated between listed speeds of {prices.name}"
    if any(speed_bps == listed_bps for listed_bps, _ in one):
        note = f"a listed speed of {prices.name}"
    return EquivalentFatTree(count, speed_bps, usd, budget_usd, note)


def _listed(
    servers: int,
    interfaces: int,
    prices: PartTable,
    rule: Accounting,
    options: FabricOptions,
    most_usd: float,
) -> list[tuple[float, float]]:
    """Return (speed, price a server of so many interfaces with their share of the fat-tree), ascending in speed.

    Speeds of which the network cards alone cost more than ``most_usd`` are left out.
    """
    rows = []
    for speed_bps in prices.speeds_bps():
        if rule.nics and interfaces * prices.price_usd("nic", speed_bps) > most_usd:
            continue
        try:
            bill = bill_of_materials("fat-tree", servers, interfaces, speed_bps, prices, rule, options)
        except Infeasible:
            continue
        if bill.cost_per_server_usd is not None:
            rows.append((speed_bps, bill.cost_per_server_usd))
    return rows


def _fastest_listed(listed: list[tuple[float, float]], usd: float) -> tuple[float, float]:
    """Return the fastest speed that can be paid, and its price; (0, 0) if none can."""
    return max((row for row in listed if row[1] <= usd), default=(0.0, 0.0))


def _fastest_between(listed: list[tuple[float, float]], usd: float) -> tuple[float, float]:
    """Return the fastest speed that can be paid, of all between those listed, and its price; (0, 0) if none can."""
    if listed[-1][1] <= usd:
        return listed[-1]
    for (low, low_usd), (high, high_usd) in reversed(list(pairwise(listed))):
        if low_usd <= usd:
            return low + (high - low) * (usd - low_usd) / (high_usd - low_usd), usd
    return 0.0, 0.0
