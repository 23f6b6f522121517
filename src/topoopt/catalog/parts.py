"""Parts of a network: NICs, transceivers, packet switches, patch panels and optical circuit switches.

A technology suits a job if the time that it takes to rewire is small beside the time for which the wiring stays
good: hours for a job whose traffic is the same in every iteration, milliseconds for one whose experts move.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

from topoopt.base.errors import InvalidInput, check_known
from topoopt.schema.files import packaged_rows

NounT = TypeVar("NounT")
Row = Mapping[str, str]


def number_or_none(text: str) -> float | None:
    """Return the number, or None where the sources do not give one."""
    return float(text) if text else None


_READ: Mapping[Any, Callable[[str], object]] = {
    str: str,
    int: int,
    float: float,
    float | None: number_or_none,
}


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

    @property
    def host_bandwidth_bps(self) -> float:
        """Bandwidth of the host's PCIe for all ports, bits/s per direction; 128 of 130 bits are data."""
        generation, lanes = self.host_interface.removeprefix("PCIe ").split(" x")
        return 8e9 * 2 ** (float(generation) - 3) * int(lanes) * 128 / 130


@dataclass(frozen=True, slots=True)
class Transceiver:
    """An optical module.

    ``loss_budget_db`` is the largest loss of fiber, connectors and optical switches between two of them; each pair of
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
    """Reach of copper at a speed: passive, and with a retimer chip at each end."""

    name: str
    bandwidth_bps: float
    passive_reach_m: float
    active_reach_m: float
    quality: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class OpticalSwitch:
    """An optical switching technology, or a product that uses it.

    Attributes
    ----------
    technology : str
        Technology of a product; a technology has its own name here.
    ports : int
        Fiber pairs of the largest device.
    reconfiguration_s : float
        Time to change its wiring; its ports carry nothing meanwhile.
    fiber_move_s : float or None
        Time to move one fiber, where they are moved one after the other; None where all are switched at once.
    relock_s : float or None
        Time until links carry traffic once their light is back; None where it is not known.
    relock_quality : str
        Whether it was measured with this device (``published``) or is ``assumed`` to be that of another one.
    insertion_loss_db : (float, float) or None
        Lowest and highest loss of a connection; None where the sources give none.
    watts : float or None
    """

    name: str
    technology: str
    ports: int
    reconfiguration_s: float
    fiber_move_s: float | None
    relock_s: float | None
    relock_quality: str
    insertion_loss_db: tuple[float, float] | None
    watts: float | None
    quality: str
    source: str
    note: str = ""

    @property
    def outage_s(self) -> float:
        """Time for which links carry nothing: its reconfiguration, and the relock where that is known."""
        return self.reconfiguration_s + (self.relock_s or 0.0)


@dataclass(frozen=True, slots=True)
class OpticalChoice:
    """Suitability of one technology for a job.

    Attributes
    ----------
    fits : bool
        Whether one device has a port for every server (interface i of each server goes to switch i of d).
    duty : float
        Fraction of the time in which the network carries traffic.
    break_even_s : float
        The shortest interval between changes of traffic at which rewiring costs no more than the allowed
        overhead; for traffic that changes faster the technology is too slow.
    suits : bool
        Whether it fits and its duty is within the allowed overhead.
    """

    technology: OpticalSwitch
    fits: bool
    duty: float
    break_even_s: float
    suits: bool


@cache
def optical_switches(products: bool = False) -> tuple[OpticalSwitch, ...]:
    """Return every technology of the catalogue, slowest first; with ``products`` their products behind them, too."""
    rows = read_nouns(OpticalSwitch, "optical_switches", insertion_loss_db=_losses)
    some = [row for row in rows if products or row.name == row.technology]
    return tuple(sorted(some, key=lambda row: (row.name != row.technology, -row.reconfiguration_s)))


def find_optical_switch(name: str) -> OpticalSwitch:
    """Return the technology or product with this name; an unknown one is an :class:`InvalidInput` with the nearest."""
    by_name = {row.name: row for row in optical_switches(products=True)}
    check_known("optical switch", name.lower(), by_name)
    return by_name[name.lower()]


def choose_optics(servers: int, change_interval_s: float, overhead: float = 0.1) -> tuple[OpticalChoice, ...]:
    """Return every technology with its verdict: suitable ones first, from the slowest (and cheapest).

    Parameters
    ----------
    servers
        Ports needed on each of the d optical switches.
    change_interval_s
        Seconds for which the job's traffic stays the same: its whole duration for fixed traffic, or infinity.
    overhead
        The fraction of time that may go into rewiring.

    Examples
    --------
    A job of an hour whose traffic never changes suits a patch panel; one whose traffic changes every second
    needs a switch of 10 ms.

    >>> [choose_optics(128, interval)[0].technology.name for interval in (3600.0, 1.0)]
    ['patch-panel', 'piezo']
    """
    if not change_interval_s > 0:
        raise InvalidInput(f"optics: change_interval_s: expected seconds > 0, got {change_interval_s:g}")
    if not 0 < overhead < 1:
        raise InvalidInput(f"optics: overhead: expected a fraction between 0 and 1, got {overhead:g}")
    choices = (_choice(row, servers, change_interval_s, overhead) for row in optical_switches())
    return tuple(sorted(choices, key=lambda choice: not choice.suits))


def break_even_bytes(reconfiguration_s: float, bandwidth_bps: float, hops: float) -> float:
    """Return the message size above which waiting for a direct circuit beats forwarding, bytes.

    A message of S bytes over h links takes h times its share of them; where every server forwards as much as it
    sends, that leaves it 1/h of a link, and it takes h · 8S/B. Over a circuit of its own it takes t + 8S/B. The two
    are equal at S = t · B / (8 · (h − 1)). In a network that is otherwise idle forwarding costs nothing but latency,
    so this is the least size: below it, one never waits.

    Parameters
    ----------
    hops
        Links of the route over the wiring that is there; where it is one, waiting never pays. Infinite where there
        is no route: then it always does.

    Examples
    --------
    Ten milliseconds at 100 Gb/s are 125 MB, and two hops cost as much again.

    >>> break_even_bytes(10e-3, 100e9, 2.0), break_even_bytes(10e-3, 100e9, 1.0)
    (125000000.0, inf)
    """
    _check_break_even(reconfiguration_s, hops)
    return reconfiguration_s * bandwidth_bps / (8 * (hops - 1)) if hops > 1 else float("inf")


def break_even_interval_s(reconfiguration_s: float, hops: float) -> float:
    """Return the interval between traffic changes above which rewiring at each change beats forwarding, seconds.

    Rewired at every change, a network carries 1 − t/T of the time, over one link each; forwarding, it carries all
    the time, but h links each, that is 1/h. The two are equal at T = t · h / (h − 1).

    Examples
    --------
    >>> break_even_interval_s(10e-3, 2.0), break_even_interval_s(300.0, 1.0)
    (0.02, inf)
    """
    _check_break_even(reconfiguration_s, hops)
    return reconfiguration_s / (1 - 1 / hops) if hops > 1 else float("inf")


def _check_break_even(reconfiguration_s: float, hops: float) -> None:
    if not (reconfiguration_s >= 0 and hops >= 1):
        raise InvalidInput(
            f"break-even: reconfiguration_s must be >= 0 and hops >= 1, got {reconfiguration_s} and {hops}"
        )


def _choice(row: OpticalSwitch, servers: int, interval_s: float, overhead: float) -> OpticalChoice:
    # One interval holds one rewiring and then traffic; where rewiring takes longer there is no time for traffic.
    duty = max(0.0, 1.0 - row.outage_s / interval_s)
    fits = servers <= row.ports
    break_even_s = row.outage_s / overhead
    return OpticalChoice(row, fits, duty, break_even_s, fits and interval_s >= break_even_s)


def _losses(row: Row) -> tuple[float, float] | None:
    low, high = number_or_none(row["insertion_loss_low_db"]), number_or_none(row["insertion_loss_high_db"])
    return None if low is None or high is None else (low, high)


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
    """Return the copper cable with the longest reach at this speed or more, None where there is none.

    Examples
    --------
    >>> [copper_reach(speed).passive_reach_m for speed in (100e9, 300e9, 1600e9)], copper_reach(3200e9)
    ([5.0, 2.0, 1.0], None)
    """
    return next((row for row in copper_cables() if row.bandwidth_bps >= bandwidth_bps), None)


def read_nouns(noun: type[NounT], name: str, **others: Callable[[Row], object]) -> tuple[NounT, ...]:
    """Return the rows of ``hardware/data/<name>.csv`` as nouns; columns are named like the fields.

    Parameters
    ----------
    **others
        Functions of a row, by field, for fields without a column of the same name.
    """
    kinds = {field: kind for field, kind in get_type_hints(noun).items() if field not in others}
    return tuple(
        noun(
            **{field: _READ[kind](row[field]) for field, kind in kinds.items()},
            **{field: make(row) for field, make in others.items()},
        )
        for row in packaged_rows("catalog", name)
    )
