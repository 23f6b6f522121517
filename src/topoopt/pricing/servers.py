"""What the servers of a cluster cost and draw: from the catalogue, or as somebody says."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator, server_with
from topoopt.pricing.running import usual_figures

RANGE = ("low", "typical", "high")
"""Names of the catalogue's prices."""
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """One server with its accelerators, all others are alike.

    Attributes
    ----------
    name : str
        Which server of the catalogue, or how much of it; or what it has.
    usd, low_usd, high_usd : float or None
        Its price, and how far off that may be; None where nobody's figure is known.
    power_w : float or None
        What it draws while it trains.
    basis : str
        How the figures come about, in words.
    source : str
        Where they come from.
    """

    name: str
    usd: float | None
    low_usd: float | None
    high_usd: float | None
    power_w: float | None
    basis: str
    source: str = ""


def server_price(
    accelerator: str,
    accelerators_per_server: int,
    *,
    price: str | float | None = None,
    power_w: float | None = None,
) -> ServerPrice:
    """Return what a server of so many accelerators costs and draws.

    A server of the catalogue has 8 accelerators, a rack 72; one of another number is priced by its accelerators.

    Parameters
    ----------
    price
        Dollars, or ``low``, ``typical`` or ``high`` of the catalogue; typical where not given.
    power_w
        While it trains; a share of the maker's rating where not given.

    Raises
    ------
    InvalidInput
        If there is no such accelerator, or a figure is out of range.

    Examples
    --------
    >>> server_price("h100", 8).usd, server_price("h100", 4, price="low").usd, server_price("v100", 8).usd
    (270000.0, 99500.0, None)
    """
    part, row = find_accelerator(accelerator), server_with(accelerator)
    of_catalogue = price is None or price in RANGE
    given_usd = None if of_catalogue else _dollars(price)
    if power_w is not None and not 0 <= power_w < float("inf"):
        raise InvalidInput(f"server_power: expected watts >= 0, got {power_w}")
    if row is None:
        name = f"{accelerators_per_server} x {part.name}"
        what = "no server of the catalogue has this accelerator"
        basis = what if None in (given_usd, power_w) else GIVEN
        return ServerPrice(name, given_usd, given_usd, given_usd, power_w, basis)
    share = accelerators_per_server / row.accelerators
    low, typical, high = (
        None if usd is None else usd * share for usd in (row.low_usd, row.typical_usd, row.high_usd)
    )
    usd = given_usd
    if of_catalogue:
        usd = {"low": low, "high": high}.get(str(price), typical)
    else:
        low = high = given_usd
    draws = usual_figures()["training_power"].usual
    assert draws is not None
    if power_w is None and row.rated_w is not None:
        power_w = row.rated_w * share * draws
    name = row.name
    if share != 1:
        named = f"{accelerators_per_server} of {row.accelerators}" if share < 1 else accelerators_per_server
        name = f"{named} accelerators of {row.name}"
    priced = f"{price or 'typical'} price of {row.date}" if of_catalogue else "price given"
    return ServerPrice(name, usd, low, high, power_w, f"{name}, {priced}", row.source)


def _dollars(price: str | float | None) -> float:
    try:
        usd = float(str(price))
    except ValueError:
        usd = float("nan")
    if not 0 <= usd < float("inf"):
        raise InvalidInput(f'server_price: expected dollars >= 0, low, typical or high, got "{price}"')
    return usd
