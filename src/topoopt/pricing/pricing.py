"""The pricing of a network: price list, date, options, accounting, and the probability that another one is cheaper.

Prices are sampled. The price of each kind of part follows a triangular distribution between the low and the high price
of the price list, with its mode at the listed price; one sample applies to all speeds of the part and to all networks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from zlib import crc32

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import TopoOptError
from topoopt.pricing.bill import Bill, bill_of_materials
from topoopt.pricing.fabric_options import PLUGGABLE, Accounting, FabricOptions, changed_accounting
from topoopt.pricing.ownership import NetworkPrice, network_price
from topoopt.pricing.price_lists import DEFAULT_PRICES, PartTable, find_power, find_prices


@dataclass(frozen=True, slots=True)
class Pricing:
    """A price list, a table of watts, an accounting and a set of options; a study uses one for everything.

    Attributes
    ----------
    prices, power : PartTable
    accounting : Accounting
        Parts that are counted.
    options : FabricOptions
        Options for how fabrics are built, including the link technology.
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
    """Return the pricing from names; None values are taken from the named accounting.

    Parameters
    ----------
    folder
        Folder of price files given without one.

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
    """Return the bill of a fabric.

    Raises
    ------
    InvalidInput
        If the fabric is unknown, or a choice does not fit the degree.
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


DRAWS = 1_000
"""Number of price samples."""


class HasPrice(Protocol):
    """Anything with a total price and the low, listed and high price of its parts, such as a bill or a network."""

    @property
    def cost_usd(self) -> float | None:
        """Total at listed prices; None where a price is unknown."""

    @property
    def cost_parts_usd(self) -> Mapping[str, tuple[float, float, float]]:
        """Low, listed and high price by kind of part."""


def price_range_usd(row: HasPrice) -> tuple[float | None, float | None]:
    """Return the 10th and the 90th percentile of the sampled price of a network."""
    if row.cost_usd is None:
        return None, None
    low, high = np.quantile(drawn_usd(_parts(row)), (0.1, 0.9))
    return float(low), float(high)


def cheaper_share(one: HasPrice, other: HasPrice) -> float | None:
    """Return the share of samples in which one network is cheaper, equal prices as half; None without prices."""
    if one.cost_usd is None or other.cost_usd is None:
        return None
    difference = drawn_usd(_parts(one)) - drawn_usd(_parts(other))
    equal = np.abs(difference) <= 1e-9 * other.cost_usd
    return float(np.mean(np.where(equal, 0.5, difference < 0)))


def _parts(row: HasPrice) -> Mapping[str, tuple[float, float, float]]:
    """Return the parts of a network; a row of an older file has none, so its total price counts as certain."""
    whole = row.cost_usd or 0.0
    return row.cost_parts_usd or {"network": (whole, whole, whole)}


def drawn_usd(parts: Mapping[str, tuple[float, float, float]]) -> Floats:
    """Return the sampled prices of a network, shape (:data:`DRAWS`,).

    Parameters
    ----------
    parts
        Low, listed and high price in dollars of all parts of each kind.

    Examples
    --------
    >>> prices = drawn_usd({"nic": (80.0, 100.0, 150.0)})
    >>> bool(prices.min() >= 80), bool(prices.max() <= 150), round(float(prices.mean()))
    (True, True, 110)
    """
    total = np.zeros(DRAWS)
    for item, ends in parts.items():
        low, listed, high = sorted(ends)
        share, width = uniform_of(item), high - low
        peak = (listed - low) / width if width > 0 else 0.0
        rising = low + np.sqrt(share * width * (listed - low))
        total += np.where(share < peak, rising, high - np.sqrt((1 - share) * width * (high - listed)))
    return total


@lru_cache(64)
def uniform_of(item: str) -> Floats:
    """Return evenly spaced quantiles, in a random order that is seeded with the name of the kind of part."""
    order = np.random.default_rng(crc32(item.encode())).permutation(DRAWS)
    return np.asarray((order + 0.5) / DRAWS)
