"""How a cluster is run: for how many years, at which price of electricity, for which share of the hours it trains."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from topoopt.errors import InvalidInput
from topoopt.files import packaged_rows

HOURS_OF_A_YEAR = 24 * 365


@dataclass(frozen=True, slots=True)
class Running:
    """How a cluster is run.

    Attributes
    ----------
    years : float
        Over which its price is spread, evenly and without interest.
    electricity_usd_per_kwh : float
    power_usage_effectiveness : float
        Watts drawn by the building over watts drawn by the parts, 1 or more: cooling and supply.
    utilization : float
        Share of the hours in which it trains. The others are paid for, too, electricity included: what stands
        idle draws less, by how much no source says of a whole cluster.
    """

    years: float
    electricity_usd_per_kwh: float
    power_usage_effectiveness: float = 1.0
    utilization: float = 1.0

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

    @property
    def hours(self) -> float:
        """Hours of all years."""
        return self.years * HOURS_OF_A_YEAR

    @property
    def training_hours(self) -> float:
        """Those in which it trains."""
        return self.hours * self.utilization

    def electricity_usd(self, power_w: float) -> float:
        """Return what so many watts cost over all years, with what the building adds.

        Examples
        --------
        >>> round(Running(4, 0.10, 1.3).electricity_usd(10_086.4))  # 35,040 h
        45946
        """
        kwh = power_w / 1e3 * self.power_usage_effectiveness * self.hours
        return kwh * self.electricity_usd_per_kwh


@dataclass(frozen=True, slots=True)
class UsualFigure:
    """A figure of how clusters are run, with its range and where it comes from."""

    name: str
    low: float
    usual: float
    high: float
    unit: str
    confidence: str
    date: str
    source: str


@cache
def usual_figures() -> Mapping[str, UsualFigure]:
    """Return what is taken where nothing is said, by name: ``years``, ``utilization``, ``training_power`` …

    ``training_power`` is what a server draws while it trains, over what its maker says that it draws at most.

    Examples
    --------
    >>> usual_figures()["power_usage_effectiveness"].usual
    1.58
    """
    return {
        row["name"]: UsualFigure(
            row["name"],
            float(row["low"]),
            float(row["usual"]),
            float(row["high"]),
            row["unit"],
            row["confidence"],
            row["date"],
            row["source"],
        )
        for row in packaged_rows("cost", "running")
    }
