"""What a network is built of: NICs, transceivers, packet switches. Prices are in the room ``cost``."""

from dataclasses import dataclass
from functools import cache

from topoopt.hardware.tables import read_nouns


@dataclass(frozen=True, slots=True)
class Nic:
    """A network card. ``watts`` is None where its maker's figure is not in the sources."""

    name: str
    port_bandwidth_bps: float
    ports: int
    host_interface: str
    watts: float | None
    quality: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Transceiver:
    """An optical module.

    ``loss_budget_db`` is what fiber, connectors and optical switches may lose between two of them; each pair of
    the ``fibers`` takes one port of an optical switch.
    """

    name: str
    bandwidth_bps: float
    form_factor: str
    fibers: int
    reach_m: float
    loss_budget_db: float
    watts: float | None
    quality: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PacketSwitch:
    """A switch, or the chip of one, that forwards packets."""

    name: str
    ports: int
    port_bandwidth_bps: float
    chip: str
    watts: float | None
    quality: str
    source: str
    note: str = ""


@cache
def nics() -> tuple[Nic, ...]:
    """Return every NIC of the catalogue, in its order."""
    return read_nouns(Nic, "nics")


@cache
def transceivers() -> tuple[Transceiver, ...]:
    """Return every transceiver of the catalogue, slowest first."""
    return read_nouns(Transceiver, "transceivers")


@cache
def packet_switches() -> tuple[PacketSwitch, ...]:
    """Return every packet switch of the catalogue, in its order."""
    return read_nouns(PacketSwitch, "switches")
