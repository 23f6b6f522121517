"""The whole catalogue as tables of rows, for whoever lists it."""

from collections.abc import Callable, Mapping

from topoopt.errors import unknown_name
from topoopt.hardware.accelerator import Accelerator, accelerators
from topoopt.hardware.efficiency import EfficiencyRow, efficiency_table
from topoopt.hardware.optics import OpticalSwitch, optical_switches
from topoopt.hardware.parts import Nic, PacketSwitch, Transceiver, nics, packet_switches, transceivers

CatalogueRow = Accelerator | Nic | Transceiver | PacketSwitch | OpticalSwitch | EfficiencyRow

CATALOGUES: Mapping[str, Callable[[], tuple[CatalogueRow, ...]]] = {
    "accelerators": accelerators,
    "nics": nics,
    "transceivers": transceivers,
    "switches": packet_switches,
    "optical-switches": optical_switches,
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
    if name not in CATALOGUES:
        raise unknown_name("catalogue", name, CATALOGUES)
    return CATALOGUES[name]()
