"""What a network costs over years: its price and its electricity."""

from dataclasses import dataclass

from topoopt.cost.bill import Bill
from topoopt.errors import InvalidInput

HOURS_OF_A_YEAR = 24 * 365


@dataclass(frozen=True, slots=True)
class Running:
    """How a network is run. There are no defaults: electricity costs something else everywhere.

    Attributes
    ----------
    electricity_usd_per_kwh : float
    power_usage_effectiveness : float
        Watts drawn by the building over watts drawn by the parts, 1 or more: cooling and supply.
    """

    years: float
    electricity_usd_per_kwh: float
    power_usage_effectiveness: float = 1.0

    def __post_init__(self) -> None:
        for name in ("years", "electricity_usd_per_kwh"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name}: expected a number >= 0, got {getattr(self, name)}")
        if not 1 <= self.power_usage_effectiveness < float("inf"):
            raise InvalidInput(
                f"power_usage_effectiveness: expected a number >= 1, got {self.power_usage_effectiveness}"
            )


@dataclass(frozen=True, slots=True)
class Ownership:
    """Total cost of ownership: None where the watts of a part are not known."""

    running: Running
    electricity_usd: float | None
    total_usd: float | None


def ownership(bill: Bill, running: Running) -> Ownership:
    """Return what a network costs over years, all parts at their typical watts all the time.

    Examples
    --------
    >>> from topoopt.cost import bill_of_materials, find_prices
    >>> bill = bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022"))
    >>> round(ownership(bill, Running(4, 0.10)).electricity_usd)  # 512 × (16.2 + 3.5) W, 35,040 h
    35343
    """
    if bill.power_w is None:
        return Ownership(running, None, None)
    kwh = bill.power_w / 1e3 * running.power_usage_effectiveness * running.years * HOURS_OF_A_YEAR
    electricity_usd = kwh * running.electricity_usd_per_kwh
    return Ownership(running, electricity_usd, bill.cost_usd + electricity_usd)
