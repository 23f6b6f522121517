"""The noun Money: what a network and its servers cost over the years, by what is paid for."""

from collections.abc import Mapping
from dataclasses import dataclass

PRICES = ("servers", "storage")
"""Of what is paid beside the network: what bears interest and is maintained, as the network is."""
OTHERS = ("servers", "electricity", "interest", "colocation", "maintenance", "staff", "storage")
"""What is paid for beside the network."""
_ON_PRICES = ("interest", "maintenance")


@dataclass(frozen=True, slots=True)
class Money:
    """What is spent.

    Attributes
    ----------
    network_usd : mapping
        Price of the network, by kind of part.
    other_usd : mapping
        What else is paid over the years: ``servers``, ``electricity``, ``interest`` … (:data:`OTHERS`).
    years : float
        Over which it is owned.
    unknown : tuple of str
        What nobody knows the price of; then there is no total.
    network_power_w : float or None
        What the network draws.
    capital_factor : float
        What a dollar of prices comes to over the years, with its interest and maintenance.
    """

    network_usd: Mapping[str, float]
    other_usd: Mapping[str, float]
    years: float
    unknown: tuple[str, ...] = ()
    network_power_w: float | None = None
    capital_factor: float = 1.0

    @property
    def price_usd(self) -> float | None:
        """Price of the network; None where that of a part is not known."""
        return None if self.unknown else sum(self.network_usd.values())

    @property
    def total_usd(self) -> float | None:
        """Everything together; None where something is not known."""
        return None if self.unknown else sum((*self.network_usd.values(), *self.other_usd.values()))

    def by_part(self) -> dict[str, float]:
        """Return the total by what is paid for: interest and maintenance are with the prices that they are of."""
        prices = {
            **self.network_usd,
            **{name: self.other_usd[name] for name in PRICES if name in self.other_usd},
        }
        rest = {name: usd for name, usd in self.other_usd.items() if name not in (*PRICES, *_ON_PRICES)}
        return {**{name: self.capital_factor * usd for name, usd in prices.items()}, **rest}
