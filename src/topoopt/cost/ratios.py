"""The published cost ratios beside ours, for every accounting: none of them gives both."""

from dataclasses import dataclass
from statistics import mean

from topoopt.cost.accounting import Accounting
from topoopt.cost.bill import bill_of_materials
from topoopt.cost.prices import PriceTable

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
    """Averages over :data:`PUBLISHED_CLUSTERS` under one accounting."""

    accounting: str
    ocs_over_panel: float
    ideal_over_topoopt: float


def cost_ratios(prices: PriceTable, accounting: Accounting) -> CostRatios:
    """Return the two ratios that the paper quotes as 1.33 and 3.2.

    Examples
    --------
    >>> from topoopt.cost import ACCOUNTINGS, find_prices
    >>> for accounting in ACCOUNTINGS.values():
    ...     ratios = cost_ratios(find_prices("2022"), accounting)
    ...     print(f"{ratios.accounting}: {ratios.ocs_over_panel:.2f} {ratios.ideal_over_topoopt:.2f}")
    complete: 1.10 2.43
    no-look-ahead: 1.37 3.00
    fat-tree-fiber: 1.27 3.07
    """
    panel, optical, ideal = (
        [bill_of_materials(fabric, *cluster, prices, accounting).cost_usd for cluster in PUBLISHED_CLUSTERS]
        for fabric in ("topoopt", "topoopt-ocs", "ideal-switch")
    )
    return CostRatios(
        accounting.name,
        mean(a / b for a, b in zip(optical, panel, strict=True)),
        mean(a / b for a, b in zip(ideal, panel, strict=True)),
    )
