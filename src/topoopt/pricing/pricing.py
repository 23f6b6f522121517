"""The pricing of a network: price list, date, options, and the accounting that published cost ratios leave open."""

from dataclasses import dataclass, field

from topoopt.base.errors import TopoOptError
from topoopt.pricing.bill import Bill, bill_of_materials
from topoopt.pricing.fabric_options import PLUGGABLE, Accounting, FabricOptions, changed_accounting
from topoopt.pricing.ownership import NetworkPrice, network_price
from topoopt.pricing.price_lists import DEFAULT_PRICES, PartTable, find_power, find_prices


@dataclass(frozen=True, slots=True)
class Pricing:
    """One price list, one table of watts, one accounting and one set of choices: a study has one and no other.

    Attributes
    ----------
    prices, power : PartTable
    accounting : Accounting
        What is counted.
    options : FabricOptions
        How fabrics are built, their link technology among it.
    """

    prices: PartTable
    accounting: Accounting = field(default_factory=Accounting)
    options: FabricOptions = field(default_factory=FabricOptions)
    power: PartTable = field(default_factory=find_power)

    @property
    def name(self) -> str:
        """Name of the price list."""
        return self.prices.name


def pricing_of(
    prices: str = DEFAULT_PRICES,
    accounting: str = "complete",
    tiers: int | None = None,
    fiber_length_m: float | None = None,
    link_technology: str = PLUGGABLE,
    folder: str = "",
) -> Pricing:
    """Return how a network is priced, from names; what is None is as the named accounting has it.

    Parameters
    ----------
    folder
        Where files of prices lie that are named without a folder.

    Raises
    ------
    InvalidInput
        For an unknown name, a number out of range, or a file that is wrong.

    Examples
    --------
    >>> pricing_of().name, pricing_of(accounting="paper").accounting.tiers
    ('2026', 3)
    """
    changes = {"tiers": tiers, "fiber_length_m": fiber_length_m}
    rule = changed_accounting(
        accounting, **{key: value for key, value in changes.items() if value is not None}
    )
    return Pricing(find_prices(prices, folder), rule, FabricOptions(link_technology=link_technology))


def network_bill(fabric: str, servers: int, degree: int, bandwidth_bps: float, pricing: Pricing) -> Bill:
    """Return the bill of a fabric of so many servers of ``degree`` interfaces of so much bandwidth.

    Raises
    ------
    InvalidInput
        If the fabric is unknown, or a choice does not go with the degree.
    Infeasible
        If no switches of the catalogue join the servers.

    Examples
    --------
    Thirty-two servers of eight interfaces of 400 Gb/s: the ideal switch is no dearer than rails.

    >>> bills = [network_bill(name, 32, 8, 400e9, pricing_of()) for name in ("ideal-switch", "rail")]
    >>> bills[0].cost_usd <= bills[1].cost_usd, bills[0].planes[0].tree.tiers
    (True, 1)
    """
    return bill_of_materials(
        fabric,
        servers,
        degree,
        bandwidth_bps,
        pricing.prices,
        pricing.accounting,
        pricing.options,
        pricing.power,
    )


def known_price(
    fabric: str, servers: int, degree: int, bandwidth_bps: float, pricing: Pricing
) -> NetworkPrice:
    """Return the price and the watts of a fabric; unknown, with the reason, where it cannot be bought."""
    try:
        return network_price(network_bill(fabric, servers, degree, bandwidth_bps, pricing))
    except TopoOptError as error:
        return NetworkPrice(None, None, (str(error),))
