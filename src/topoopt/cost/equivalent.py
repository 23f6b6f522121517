"""The fat-tree that the same money buys: the fair opponent of a direct-connect fabric."""

from dataclasses import dataclass
from itertools import pairwise

from topoopt.cost.accounting import Accounting
from topoopt.cost.bill import bill_of_materials
from topoopt.cost.part_table import PartTable
from topoopt.cost.ratios import PUBLISHED_IDEAL_OVER_TOPOOPT
from topoopt.errors import InvalidInput
from topoopt.units import format_bandwidth


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
) -> EquivalentFatTree:
    """Return the fastest full-bisection fat-tree that costs no more than TopoOpt on the same servers.

    Its servers have up to ``degree`` equal interfaces. Their price is taken at the listed speeds and
    interpolated between them; where not even the cheapest interface can be paid, servers share one, and
    the note says so.

    Raises
    ------
    InvalidInput
        If ``bandwidth_bps`` lies above the price list, or no speed is fully listed.

    Examples
    --------
    >>> from topoopt.cost import find_prices
    >>> round(equivalent_fat_tree(128, 4, 100e9, find_prices("2022")).server_bandwidth_bps / 1e9)
    200
    """
    rule = accounting or Accounting()
    budget = bill_of_materials("topoopt", servers, degree, bandwidth_bps, prices, rule).cost_per_server_usd
    listed = _listed_interfaces(servers, prices, rule)
    cheapest_bps, cheapest_usd = min(listed, key=lambda row: (row[1], -row[0]))
    if budget < cheapest_usd:
        note = (
            f"less than one interface of {format_bandwidth(cheapest_bps)}, the cheapest listed: a share of it"
        )
        return EquivalentFatTree(1, cheapest_bps * budget / cheapest_usd, budget, budget, note)
    choices = [(count, *_fastest(listed, budget / count)) for count in range(1, degree + 1)]
    count, speed_bps, unit_usd = max(choices, key=lambda choice: (choice[0] * choice[1], -choice[0]))
    note = f"interpolated between listed speeds of {prices.name}"
    if any(speed_bps == listed_bps for listed_bps, _ in listed):
        note = f"a listed speed of {prices.name}"
    return EquivalentFatTree(count, speed_bps, count * unit_usd, budget, note)


def _listed_interfaces(servers: int, prices: PartTable, rule: Accounting) -> list[tuple[float, float]]:
    """Return (speed, price of one interface with its share of the fat-tree), ascending in speed."""
    speeds = prices.speeds_bps()
    if not speeds:
        raise InvalidInput(f"prices {prices.name}: no speed has a NIC, a transceiver and a port; add rows")
    return [
        (speed, bill_of_materials("fat-tree", servers, 1, speed, prices, rule).cost_per_server_usd)
        for speed in speeds
    ]


def _fastest(listed: list[tuple[float, float]], usd: float) -> tuple[float, float]:
    """Return the fastest speed that can be paid, and its price; (0, 0) if none can."""
    if listed[-1][1] <= usd:
        return listed[-1]
    for (low, low_usd), (high, high_usd) in reversed(list(pairwise(listed))):
        if low_usd <= usd:
            return low + (high - low) * (usd - low_usd) / (high_usd - low_usd), usd
    return 0.0, 0.0
