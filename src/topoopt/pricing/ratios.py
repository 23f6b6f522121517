"""The published cost ratios beside ours, for one way of counting and for all of them: none gives both."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from statistics import mean
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.pricing.accounting import ACCOUNTINGS, CUSTOM, FIBER_ON, PAPER, Accounting
from topoopt.pricing.bill import bill_of_materials
from topoopt.pricing.part_table import PartTable

PUBLISHED_OCS_OVER_PANEL = 1.33
PUBLISHED_IDEAL_OVER_TOPOOPT = 3.2
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
    not, look-ahead or not, on which fabrics fiber is counted, whether the second panel has fibers of its own, and
    the tiers of the fat-tree.
    Combinations in which a choice has no effect are left out.

    Raises
    ------
    InvalidInput
        If the price list lacks 100 or 200 Gb/s, at which the published ratios stand.

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
