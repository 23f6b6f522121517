"""Optical technologies for a job: which can hold the fibers, which is quick enough, and what it costs."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.units import finite_or_none
from topoopt.catalog import OpticalChoice, break_even_bytes, break_even_interval_s, choose_optics
from topoopt.pricing.counts import PORT_OF_TECHNOLOGY
from topoopt.pricing.optical_devices import light_left_db, transceiver_for
from topoopt.pricing.part_table import PartTable


@dataclass(frozen=True, slots=True)
class TechnologyRow:
    """One technology for one job.

    Attributes
    ----------
    choice : OpticalChoice
        Whether it fits and suits, its duty, the interval from which on rewiring is within the allowed overhead.
    cost_usd : float or None
        A port for every interface of every server; None where no list prices such ports.
    break_even_bytes : float
        Messages from this size on gain by waiting for a circuit, smaller ones by being forwarded.
    pays_from_s : float
        Rewiring at every change beats forwarding over the wiring that is there where changes are at least this
        far apart.
    margin_db : float or None
        Light that a transceiver has left after the worst connection; None where a figure is not known.
    """

    choice: OpticalChoice
    cost_usd: float | None
    break_even_bytes: float
    pays_from_s: float
    margin_db: float | None

    @property
    def suits(self) -> bool:
        """Whether it holds the fibers, is quick enough and, as far as is known, loses little enough light."""
        return self.choice.suits and (self.margin_db is None or self.margin_db >= 0)

    def to_json(self) -> dict[str, Any]:
        """Return the row as a mapping; what is infinite is None."""
        part = self.choice.technology
        return {
            "technology": part.name,
            "suits": self.suits,
            "fits": self.choice.fits,
            "ports": part.ports,
            "reconfiguration_s": part.reconfiguration_s,
            "insertion_loss_db": None if part.insertion_loss_db is None else list(part.insertion_loss_db),
            "margin_db": self.margin_db,
            "duty": self.choice.duty,
            "suits_from_s": self.choice.break_even_s,
            "pays_from_s": finite_or_none(self.pays_from_s),
            "break_even_bytes": finite_or_none(self.break_even_bytes),
            "cost_usd": self.cost_usd,
        }


def technology_rows(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PartTable,
    *,
    change_interval_s: float = float("inf"),
    average_hops: float,
    overhead: float = 0.1,
    ports: int | None = None,
) -> tuple[TechnologyRow, ...]:
    """Return every technology of the catalogue, those that suit first, the slowest and cheapest of them first.

    Parameters
    ----------
    change_interval_s
        How long the job's traffic stays the same; infinite where every iteration moves the same bytes.
    average_hops
        Links of a route over the wiring that is there, the alternative to rewiring.
    overhead
        Fraction of the time that may go into rewiring.
    ports
        Ports that one device needs; one for every server by default.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    Examples
    --------
    >>> from topoopt.pricing import find_prices
    >>> rows = technology_rows(128, 4, 100e9, find_prices("2022"), change_interval_s=1.0, average_hops=5.354)
    >>> rows[0].choice.technology.name, rows[0].cost_usd, round(rows[0].break_even_bytes / 1e6)
    ('piezo', 266240.0, 72)
    """
    module = transceiver_for(bandwidth_bps)
    rows = []
    for choice in choose_optics(servers if ports is None else ports, change_interval_s, overhead):
        delay_s, port_usd = choice.technology.reconfiguration_s, _port_usd(choice.technology.name, prices)
        rows.append(
            TechnologyRow(
                choice,
                None if port_usd is None else servers * degree * port_usd,
                break_even_bytes(delay_s, bandwidth_bps, average_hops),
                break_even_interval_s(delay_s, average_hops),
                light_left_db(choice.technology.insertion_loss_db, module),
            )
        )
    return tuple(sorted(rows, key=lambda row: not row.suits))


def _port_usd(technology: str, prices: PartTable) -> float | None:
    """Return the price of a port; a list that does not tell circuit switches apart has one for all that are sold."""
    item = PORT_OF_TECHNOLOGY.get(technology)
    if item is None:
        return None
    port_usd = prices.known_value(item)
    return prices.known_value("ocs_port") if port_usd is None and item != "patch_panel_port" else port_usd
