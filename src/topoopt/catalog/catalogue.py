"""The whole catalogue as tables of rows with sources, and as an answer."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import check_known, unknown_name
from topoopt.catalog.accelerator import (
    Accelerator,
    AcceleratorServer,
    EfficiencyRow,
    accelerator_servers,
    accelerators,
    efficiency_table,
)
from topoopt.catalog.parts import (
    CopperCable,
    Nic,
    OpticalSwitch,
    PacketSwitch,
    Transceiver,
    copper_cables,
    nics,
    optical_switches,
    packet_switches,
    transceivers,
)

NetworkPart = Nic | Transceiver | CopperCable | PacketSwitch | OpticalSwitch
CatalogueRow = Accelerator | AcceleratorServer | NetworkPart | EfficiencyRow

CATALOGUES: Mapping[str, Callable[[], tuple[CatalogueRow, ...]]] = {
    "accelerators": accelerators,
    "servers": accelerator_servers,
    "nics": nics,
    "transceivers": transceivers,
    "copper-cables": copper_cables,
    "switches": packet_switches,
    "optical-switches": partial(optical_switches, products=True),
    "efficiency": efficiency_table,
}
"""The tables of the catalogue by name; each row is a dataclass with ``quality`` and ``source``."""


def catalogue(name: str) -> tuple[CatalogueRow, ...]:
    """Return the rows of one table; an unknown name is an :class:`InvalidInput` with the nearest ones.

    Examples
    --------
    >>> [row.name for row in catalogue("optical-switches")][:2]
    ['patch-panel', 'piezo']
    """
    check_known("catalogue", name, CATALOGUES)
    return CATALOGUES[name]()


@shows_itself
@dataclass(frozen=True, slots=True)
class HardwareTables:
    """One table of the catalogue, ``named``, or all of them.

    ``ports_usd`` maps the technology of an optical switch to the low, listed and high price of a port.
    """

    tables: Mapping[str, tuple[CatalogueRow, ...]]
    named: bool
    ports_usd: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the tables with their sources as a mapping."""
        return {
            name: [asdict(row) | self._port_usd(row) for row in rows] for name, rows in self.tables.items()
        }

    def to_frame(self) -> Frame:
        """Return a row for each part, with the name of its table, as pandas has it."""
        return frame({"table": name, **row} for name, rows in self.to_json().items() for row in rows)

    def _port_usd(self, row: CatalogueRow) -> dict[str, float | None]:
        """Return the price of a port of an optical switch, which no other part has."""
        if not isinstance(row, OpticalSwitch):
            return {}
        names = ("port_low_usd", "port_usd", "port_high_usd")
        return dict(zip(names, self.ports_usd.get(row.technology, (None, None, None)), strict=True))


def hardware_tables(name: str | None = None) -> HardwareTables:
    """Return one table of the catalogue, the rows of one part, or all tables.

    Parameters
    ----------
    name : str, optional
        A table, or an accelerator or another part by its name, alias or the beginning of its name.

    Raises
    ------
    InvalidInput
        If there is no such table or part.
    """
    if name is None or name in CATALOGUES:
        names = tuple(CATALOGUES) if name is None else (name,)
        return HardwareTables({key: catalogue(key) for key in names}, named=name is not None)
    own = {alias: part.name for part in accelerators() for alias in (part.name, *part.aliases)}
    wanted = own.get(name.lower(), name).lower()
    parts = {
        key: [row for row in catalogue(key) if _part_of(row).lower().startswith(wanted)] for key in CATALOGUES
    }
    found = {key: tuple(rows) for key, rows in parts.items() if rows}
    if not name or not found:
        raise unknown_name("table or part", name, {*CATALOGUES, *own})
    return HardwareTables(found, named=True)


def _part_of(row: CatalogueRow) -> str:
    """Return the name of a row's accelerator, or of the part that it is."""
    return row.accelerator if isinstance(row, AcceleratorServer | EfficiencyRow) else row.name
