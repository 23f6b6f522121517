"""The noun Money: what a network and its servers cost over the years, by what is paid for."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Money:
    """What is spent.

    Attributes
    ----------
    network_usd : mapping
        Price of the network, by kind of part.
    other_usd : mapping
        What else is paid over the years: ``servers``, ``electricity``.
    years : float
        Over which it is owned.
    unknown : tuple of str
        What nobody knows the price of; then there is no total.
    network_power_w : float or None
        What the network draws.
    """

    network_usd: Mapping[str, float]
    other_usd: Mapping[str, float]
    years: float
    unknown: tuple[str, ...] = ()
    network_power_w: float | None = None

    @property
    def price_usd(self) -> float | None:
        """Price of the network; None where that of a part is not known."""
        return None if self.unknown else sum(self.network_usd.values())

    @property
    def total_usd(self) -> float | None:
        """Everything together; None where something is not known."""
        return None if self.unknown else sum((*self.network_usd.values(), *self.other_usd.values()))
