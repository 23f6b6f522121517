"""Servers with accelerators: what one costs, from low to high, and what it draws at most."""

from dataclasses import dataclass
from functools import cache

from topoopt.catalog.accelerator import find_accelerator
from topoopt.catalog.tables import read_nouns


@dataclass(frozen=True, slots=True)
class AcceleratorServer:
    """A server, or a rack that is bought as one.

    Attributes
    ----------
    accelerator : str
        Name in the catalogue of accelerators.
    accelerators : int
        How many are in it.
    low_usd, typical_usd, high_usd : float or None
        Its price, without the network between servers; None where no public figure is known.
    rated_w : float or None
        What its maker says that it draws at most.
    date : str
        Month of the prices.
    """

    name: str
    accelerator: str
    accelerators: int
    low_usd: float | None
    typical_usd: float | None
    high_usd: float | None
    rated_w: float | None
    date: str
    quality: str
    source: str
    note: str = ""


@cache
def accelerator_servers() -> tuple[AcceleratorServer, ...]:
    """Return every server of the catalogue, in its order."""
    return read_nouns(AcceleratorServer, "accelerator_servers")


def server_with(accelerator: str) -> AcceleratorServer | None:
    """Return the server that has an accelerator, None where the catalogue has no such server.

    Raises
    ------
    InvalidInput
        If there is no such accelerator.

    Examples
    --------
    >>> server_with("h100").typical_usd, server_with("v100")
    (270000.0, None)
    """
    name = find_accelerator(accelerator).name
    return next((row for row in accelerator_servers() if row.accelerator == name), None)
