"""What the network of a cluster costs."""

from dataclasses import replace

from topoopt.cluster.settings import ClusterSettings
from topoopt.cost import Accounting, bill_of_materials, find_prices
from topoopt.errors import InvalidInput


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
    ahead, prices = settings.panels.look_ahead, find_prices(settings.prices)
    rule = replace(Accounting(), look_ahead=ahead, look_ahead_fiber=ahead)
    try:
        return bill_of_materials(
            fabric, settings.cluster.servers, interfaces, bandwidth_bps, prices, rule
        ).cost_usd
    except InvalidInput:
        return None
