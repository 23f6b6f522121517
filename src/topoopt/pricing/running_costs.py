"""Running costs of a cluster and the price of its servers: years, interest, electricity and building cost, how much it
trains."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from math import expm1, log1p

from pydantic import TypeAdapter

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator, server_with
from topoopt.schema.files import packaged_rows

HOURS_OF_A_YEAR = 24 * 365


RUNNING_WORDS: Mapping[str, str] = {
    "years": "years",
    "electricity_price": "electricity_usd_per_kwh",
    "power_usage_effectiveness": "power_usage_effectiveness",
    "utilization": "utilization",
    "interest": "interest_rate",
    "colocation": "colocation_usd_per_kw_month",
    "maintenance": "maintenance_rate",
    "staff": "staff_usd_per_year",
    "storage": "storage_usd",
}
"""Words of how a cluster is run, and the fields of the noun that they are."""


@dataclass(frozen=True, slots=True)
class Running:
    """Running costs of a cluster, and the years over which they are counted.

    Attributes
    ----------
    years : float
        Years over which its price is spread, in equal payments at the end of each.
    electricity_usd_per_kwh : float
    power_usage_effectiveness : float
        Watts drawn by the building over watts drawn by the parts, 1 or more: cooling and supply.
    utilization : float
        Share of the hours in which it trains. The others are paid for, too, electricity included: idle hardware
        draws less, but no source gives the amount for a whole cluster.
    interest_rate : float or None
        Cost of capital, a share per year. None, here and below: it is excluded, and sums are marked so.
    colocation_usd_per_kw_month : float or None
        Building and cooling, without electricity, per kilowatt that the parts draw while training.
    maintenance_rate : float or None
        Repairs and support, a share of all prices a year.
    staff_usd_per_year : float or None
        Cost of the operating staff.
    storage_usd : float or None
        Price of its storage.
    """

    years: float
    electricity_usd_per_kwh: float
    power_usage_effectiveness: float = 1.0
    utilization: float = 1.0
    interest_rate: float | None = None
    colocation_usd_per_kw_month: float | None = None
    maintenance_rate: float | None = None
    staff_usd_per_year: float | None = None
    storage_usd: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.years <= 100:
            raise InvalidInput(f"years: expected a number above 0 and up to 100, got {self.years:g}")
        if not 0 <= self.electricity_usd_per_kwh < float("inf"):
            raise InvalidInput(
                f"electricity_price: expected dollars a kWh >= 0, got {self.electricity_usd_per_kwh}"
            )
        if not 1 <= self.power_usage_effectiveness < float("inf"):
            raise InvalidInput(
                f"power_usage_effectiveness: expected a number >= 1, got {self.power_usage_effectiveness}"
            )
        if not 0 < self.utilization <= 1:
            raise InvalidInput(f"utilization: expected a share above 0 and up to 1, got {self.utilization:g}")
        for word, share in (("interest", self.interest_rate), ("maintenance", self.maintenance_rate)):
            if share is not None and not 0 <= share <= 1:
                raise InvalidInput(f"{word}: expected a share a year from 0 to 1, such as 0.1, got {share:g}")
        amounts = (self.colocation_usd_per_kw_month, self.staff_usd_per_year, self.storage_usd)
        for word, usd in zip(("colocation", "staff", "storage"), amounts, strict=True):
            if usd is not None and not 0 <= usd < float("inf"):
                raise InvalidInput(f"{word}: expected dollars >= 0, got {usd:g}")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Cost items that are in no sum, since neither the user nor a source gives them."""
        said = {
            "interest": self.interest_rate,
            "the building": self.colocation_usd_per_kw_month,
            "maintenance": self.maintenance_rate,
            "staff": self.staff_usd_per_year,
            "storage": self.storage_usd,
        }
        return tuple(name for name, value in said.items() if value is None)

    @property
    def interest_share(self) -> float:
        """Interest over all years, for a dollar that is paid back in equal payments at the end of each year.

        Examples
        --------
        >>> round(Running(5, 0.1, interest_rate=0.10).interest_share, 4)  # 5 × 0.26380 of an annuity, less 1
        0.319
        """
        if not self.interest_rate:
            return 0.0
        return self.years * self.interest_rate / -expm1(-self.years * log1p(self.interest_rate)) - 1.0

    @property
    def maintenance_share(self) -> float:
        """Maintenance over all years, for a dollar of prices."""
        return self.years * (self.maintenance_rate or 0.0)

    @property
    def capital_factor(self) -> float:
        """Total cost over all years per dollar of price, including interest and maintenance."""
        return 1.0 + self.interest_share + self.maintenance_share

    @property
    def hours(self) -> float:
        """Hours of all years."""
        return self.years * HOURS_OF_A_YEAR

    @property
    def training_hours(self) -> float:
        """Hours of training over all years."""
        return self.hours * self.utilization

    def electricity_usd(self, power_w: float) -> float:
        """Return the cost of electricity over all years, including the building's overhead.

        Examples
        --------
        >>> round(Running(4, 0.10, 1.3).electricity_usd(10_086.4))  # 35,040 h
        45946
        """
        kwh = power_w / 1e3 * self.power_usage_effectiveness * self.hours
        return kwh * self.electricity_usd_per_kwh

    def colocation_usd(self, power_w: float) -> float:
        """Return the cost of the building over all years for this power of parts; zero where excluded."""
        return power_w / 1e3 * (self.colocation_usd_per_kw_month or 0.0) * 12 * self.years


@dataclass(frozen=True, slots=True)
class UsualFigure:
    """A figure of cluster operation, its range and source; None where no public figure is known."""

    name: str
    low: float | None
    usual: float | None
    high: float | None
    unit: str
    confidence: str
    date: str
    source: str


@cache
def usual_figures() -> Mapping[str, UsualFigure]:
    """Return the default figures by name: ``years``, ``utilization``, ``training_power`` …

    ``training_power`` is the power of a server while training, relative to the maker's maximum.

    Examples
    --------
    >>> usual_figures()["power_usage_effectiveness"].usual
    1.58
    """
    # what no public figure is known of stands there as nothing
    rows = [
        {**row, **{name: row[name] or None for name in ("low", "usual", "high")}}
        for row in packaged_rows("pricing", "running")
    ]
    return {one.name: one for one in TypeAdapter(list[UsualFigure]).validate_python(rows)}


def usual_running(given: Mapping[str, float]) -> Running:
    """Return the running costs, with given figures in place of defaults.

    Parameters
    ----------
    given
        Fields of :class:`Running`.

    Examples
    --------
    >>> usual_running({"years": 4}).years, usual_running({}).left_out
    (4, ('staff', 'storage'))
    """
    usual = {field.name: usual_figures()[field.name].usual for field in fields(Running)}
    return Running(**{**usual, **given})  # type: ignore[arg-type]


RANGE = ("low", "typical", "high")
"""Names of the catalogue's prices."""
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """Price and power of a server with its accelerators; all servers are equal.

    Attributes
    ----------
    name : str
        Name of the server in the catalogue or a description of it.
    usd, low_usd, high_usd : float or None
        Price and its range; None where no figure is known.
    power_w : float or None
        Power while training.
    basis : str
        Derivation of the figures.
    source : str
        Sources of the figures.
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
    """Return price and power of a server.

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
