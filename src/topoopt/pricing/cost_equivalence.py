"""The fat-tree that the same money buys, and the published cost ratios beside ours."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from math import inf
from statistics import mean
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.units import format_bandwidth
from topoopt.catalog import PUBLISHED_IDEAL_OVER_TOPOOPT
from topoopt.pricing.bill import bill_of_materials
from topoopt.pricing.fabric_options import ACCOUNTINGS, CUSTOM, FIBER_ON, PAPER, Accounting, FabricOptions
from topoopt.pricing.price_lists import PartTable

PUBLISHED_OCS_OVER_PANEL = 1.33
PUBLISHED_CLUSTERS = tuple(
    (servers, degree, bandwidth_bps)
    for servers in (128, 432, 1024, 2000)
    for degree, bandwidth_bps in ((4, 100e9), (8, 200e9))
)
"""Servers, degree and interface bandwidth of the clusters averaged over (from memory of the paper, unconfirmed)."""


@dataclass(frozen=True, slots=True)
class CostRatios:
    """Averages over :data:`PUBLISHED_CLUSTERS` under one accounting; published as 1.33 and 3.2."""

    accounting: Accounting
    ocs_over_panel: float
    ideal_over_topoopt: float

    @property
    def distance(self) -> float:
        """The larger of the two relative distances from the published ratios; 0 where both are met."""
        optical = abs(self.ocs_over_panel / PUBLISHED_OCS_OVER_PANEL - 1)
        return max(optical, abs(self.ideal_over_topoopt / PUBLISHED_IDEAL_OVER_TOPOOPT - 1))

    def to_json(self) -> dict[str, Any]:
        """Return the ratios as a mapping."""
        return {**asdict(self), "distance": self.distance}


@dataclass(frozen=True, slots=True)
class EquivalentFatTree:
    """A full-bisection fat-tree for the price of a TopoOpt fabric.

    Attributes
    ----------
    interface_bandwidth_bps : float
        Bandwidth of each; between two listed speeds it is interpolated.
    cost_per_server_usd : float
        Cost of this fat-tree; less than the budget where the budget ends between two choices.
    budget_per_server_usd : float
        Cost of TopoOpt.
    note : str
        Derivation of the speed.
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
    evenly: bool = False,
) -> EquivalentFatTree:
    """Return the fastest full-bisection fat-tree that costs no more than TopoOpt on the same servers.

    Its servers have up to ``degree`` equal interfaces, or ``evenly`` a number that divides it, so that accelerators
    can share them alike. Whole switches come in listed speeds only. By the port a price is taken at the
    listed speeds and interpolated between them, as if there were parts of any speed. Where not even the cheapest
    interface can be paid, servers share one, as noted.

    Raises
    ------
    InvalidInput
        If TopoOpt has no price, ``bandwidth_bps`` is above the price list, or no speed is fully listed.

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
        rows = []
        for speed_bps in prices.speeds_bps():
            # the network cards alone may cost too much
            if rule.nics and interfaces * prices.price_usd("nic", speed_bps) > most_usd:
                continue
            try:
                bill = bill_of_materials("fat-tree", servers, interfaces, speed_bps, prices, rule, chosen)
            except Infeasible:
                continue
            if bill.cost_per_server_usd is not None:
                rows.append((speed_bps, bill.cost_per_server_usd))
        return rows

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
        # the fastest speed that can be paid, and its price; (0, 0) if none can
        return max(
            (row for row in listed(interfaces, budget_usd) if row[1] <= budget_usd), default=(0.0, 0.0)
        )

    counts = [one for one in range(1, degree + 1) if not evenly or degree % one == 0]
    choices = [(count, *fastest(count)) for count in counts]
    count, speed_bps, usd = max(choices, key=lambda choice: (choice[0] * choice[1], -choice[2], -choice[0]))
    note = f"interpolated between listed speeds of {prices.name}"
    if any(speed_bps == listed_bps for listed_bps, _ in one):
        note = f"a listed speed of {prices.name}"
    return EquivalentFatTree(count, speed_bps, usd, budget_usd, note)


def _fastest_between(listed: list[tuple[float, float]], usd: float) -> tuple[float, float]:
    """Return the fastest speed that can be paid, of all between those listed, and its price; (0, 0) if none can."""
    if listed[-1][1] <= usd:
        return listed[-1]
    for (low, low_usd), (high, high_usd) in reversed(list(pairwise(listed))):
        if low_usd <= usd:
            return low + (high - low) * (usd - low_usd) / (high_usd - low_usd), usd
    return 0.0, 0.0


def cost_ratios(prices: PartTable, accounting: Accounting) -> CostRatios:
    """Return the two ratios that the paper quotes as 1.33 and 3.2.

    Raises
    ------
    InvalidInput
        If the list lacks a part.

    Examples
    --------
    >>> from topoopt.pricing import ACCOUNTINGS, find_prices
    >>> for name in ("paper", "no-look-ahead", "fat-tree-fiber"):
    ...     ratios = cost_ratios(find_prices("2022"), ACCOUNTINGS[name])
    ...     print(f"{name}: {ratios.ocs_over_panel:.2f} {ratios.ideal_over_topoopt:.2f}")
    paper: 1.10 2.43
    no-look-ahead: 1.37 3.00
    fat-tree-fiber: 1.27 3.07
    """
    panel, optical, ideal = (
        [_usd(fabric, cluster, prices, accounting) for cluster in PUBLISHED_CLUSTERS]
        for fabric in ("topoopt", "topoopt-ocs", "ideal-switch")
    )
    return CostRatios(
        accounting,
        mean(a / b for a, b in zip(optical, panel, strict=True)),
        mean(a / b for a, b in zip(ideal, panel, strict=True)),
    )


def _usd(fabric: str, cluster: tuple[int, int, float], prices: PartTable, accounting: Accounting) -> float:
    bill = bill_of_materials(fabric, *cluster, prices, accounting)
    if bill.cost_usd is None:
        raise InvalidInput(
            prices.why_unknown(next(line.part for line in bill.lines if line.unit_usd is None))
        )
    return bill.cost_usd


def accounting_sweep(prices: PartTable) -> tuple[CostRatios, ...]:
    """Return the ratios under every different accounting, the one nearest to both published ratios first.

    Ports are counted, as the paper does. All choices but the mean length of a fiber are combined: network cards or
    not, look-ahead or not, on which fabrics fiber is counted, whether the second panel has fibers of its own, and the
    tiers of the fat-tree. Combinations in which a choice has no effect are left out.

    Raises
    ------
    InvalidInput
        If the price list lacks 100 or 200 Gb/s, for which the ratios are published.

    Examples
    --------
    >>> from topoopt.pricing import find_prices
    >>> rows = accounting_sweep(find_prices("2022"))
    >>> nearest = rows[0]
    >>> len(rows), nearest.accounting.name, round(nearest.ocs_over_panel, 2), round(nearest.ideal_over_topoopt, 2)
    (42, 'fat-tree-fiber', 1.27, 3.07)
    """
    rows = (cost_ratios(prices, accounting) for accounting in _different_accountings())
    return tuple(sorted(rows, key=lambda row: row.distance))


def _different_accountings() -> Iterator[Accounting]:
    by_port = [accounting for accounting in ACCOUNTINGS.values() if accounting.switches == PAPER.switches]
    named = {_plain(accounting): accounting for accounting in by_port}
    both = (True, False)
    for nics, look_ahead, fiber_on, second, tiers in product(both, both, FIBER_ON, both, (3, 2, 1)):
        accounting = replace(
            PAPER,
            name=CUSTOM,
            nics=nics,
            look_ahead=look_ahead,
            fiber_on=fiber_on,
            look_ahead_fiber=second,
            tiers=tiers,
        )
        if accounting == _plain(accounting):
            yield named.get(accounting, accounting)


def _plain(accounting: Accounting) -> Accounting:
    """Return the accounting without its name, and without fibers of a second panel where none are counted."""
    counted = accounting.look_ahead and accounting.fiber_on == "every-fabric"
    return replace(accounting, name=CUSTOM, look_ahead_fiber=accounting.look_ahead_fiber and counted)
