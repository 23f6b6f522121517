"""Parts of a network: NICs, transceivers, packet switches. Prices are in :mod:`topoopt.pricing`."""

from dataclasses import dataclass
from functools import cache

from topoopt.catalog.tables import read_nouns


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
    """A switch, or the chip of one, that forwards packets.

    Attributes
    ----------
    ports : int
        Ports as built, each of ``port_bandwidth_bps``.
    most_ports : int
        Slower ports that it can have where its own are split by breakout cables.
    optics : str
        ``pluggable``, or ``co-packaged`` where light leaves the package of the chip.
    """

    name: str
    ports: int
    port_bandwidth_bps: float
    most_ports: int
    optics: str
    chip: str
    watts: float | None
    quality: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CopperCable:
    """How far copper reaches at a speed: without electronics, and with a chip that restores the signal at each end."""

    name: str
    bandwidth_bps: float
    passive_reach_m: float
    active_reach_m: float
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


@cache
def copper_cables() -> tuple[CopperCable, ...]:
    """Return the reach of copper at every speed, slowest first."""
    return read_nouns(CopperCable, "copper_cables")


def copper_reach(bandwidth_bps: float) -> CopperCable | None:
    """Return how far copper of at least this speed reaches, None where no cable is so fast.

    Examples
    --------
    >>> [copper_reach(speed).passive_reach_m for speed in (100e9, 300e9, 1600e9)], copper_reach(3200e9)
    ([5.0, 2.0, 1.0], None)
    """
    return next((row for row in copper_cables() if row.bandwidth_bps >= bandwidth_bps), None)
