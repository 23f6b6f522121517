"""What the network of a cluster costs."""

from dataclasses import replace

from topoopt.clusters.settings import ClusterSettings
from topoopt.pricing import known_bill, pricing_of


def network_usd(
    fabric: str, settings: ClusterSettings, interfaces: int, bandwidth_bps: float
) -> float | None:
    """Return the price of a fabric that joins all servers of a cluster; None where the list leaves it open.

    Panels are counted once where the next job is not wired ahead.

    Parameters
    ----------
    interfaces, bandwidth_bps : int, float
        Of a server, and of one interface.
    """
    ahead, prices = settings.panels.look_ahead, pricing_of(settings.prices, settings.accounting)
    rule = replace(prices.accounting, look_ahead=ahead, look_ahead_fiber=ahead)
    counted = replace(prices, accounting=rule)
    bill = known_bill(fabric, settings.cluster.servers, interfaces, bandwidth_bps, counted)
    return None if bill is None else bill.cost_usd
