"""Every combination of what can be counted, and the two published ratios that each of them gives."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from topoopt.cost.accounting import ACCOUNTINGS, CUSTOM, FIBER_ON, Accounting
from topoopt.cost.prices import PriceTable
from topoopt.cost.ratios import PUBLISHED_IDEAL_OVER_TOPOOPT, PUBLISHED_OCS_OVER_PANEL, cost_ratios


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """The two ratios under one accounting.

    Attributes
    ----------
    accounting : Accounting
        With the name of the named one that it equals, or ``custom``.
    ocs_over_panel, ideal_over_topoopt : float
        Published as 1.33 and 3.2.
    """

    accounting: Accounting
    ocs_over_panel: float
    ideal_over_topoopt: float

    @property
    def distance(self) -> float:
        """The larger of the two relative distances from the published ratios; 0 where both are met."""
        optical = abs(self.ocs_over_panel / PUBLISHED_OCS_OVER_PANEL - 1)
        return max(optical, abs(self.ideal_over_topoopt / PUBLISHED_IDEAL_OVER_TOPOOPT - 1))

    def to_json(self) -> dict[str, Any]:
        """Return the row as a mapping."""
        return {**asdict(self), "distance": self.distance}


def accounting_sweep(prices: PriceTable) -> tuple[AccountingRow, ...]:
    """Return the ratios under every different accounting, the one nearest to both published ratios first.

    All choices but the mean length of a fiber are combined: network cards or not, look-ahead or not, on which
    fabrics fiber is counted, whether the second panel has fibers of its own, and the tiers of the fat-tree.
    Combinations in which a choice has no effect are left out.

    Raises
    ------
    InvalidInput
        If the price list lacks 100 or 200 Gb/s, at which the published ratios stand.

    Examples
    --------
    >>> from topoopt.cost import find_prices
    >>> rows = accounting_sweep(find_prices("2022"))
    >>> nearest = rows[0]
    >>> len(rows), nearest.accounting.name, round(nearest.ocs_over_panel, 2), round(nearest.ideal_over_topoopt, 2)
    (42, 'fat-tree-fiber', 1.27, 3.07)
    """
    rows = []
    for accounting in _different():
        ratios = cost_ratios(prices, accounting)
        rows.append(AccountingRow(accounting, ratios.ocs_over_panel, ratios.ideal_over_topoopt))
    return tuple(sorted(rows, key=lambda row: row.distance))


def _different() -> Iterator[Accounting]:
    for nics, look_ahead, fiber_on, second, tiers in product(
        (True, False), (True, False), FIBER_ON, (True, False), (3, 2, 1)
    ):
        if second and not (look_ahead and fiber_on == "every-fabric"):
            continue
        yield _named(
            Accounting(
                CUSTOM,
                nics=nics,
                look_ahead=look_ahead,
                fiber_on=fiber_on,
                look_ahead_fiber=second,
                tiers=tiers,
            )
        )


def _named(accounting: Accounting) -> Accounting:
    # The second panel's fibers make no difference where fiber is counted on fat-trees only.
    alike = [
        named
        for named in ACCOUNTINGS.values()
        if replace(named, name=CUSTOM, look_ahead_fiber=accounting.look_ahead_fiber) == accounting
        and (named.look_ahead_fiber == accounting.look_ahead_fiber or named.fiber_on != "every-fabric")
    ]
    return alike[0] if alike else accounting
