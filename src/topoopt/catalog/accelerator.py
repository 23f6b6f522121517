"""The nouns Accelerator and AcceleratorServer, and the tables of those that can be bought; plug-ins add to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Annotated

from topoopt.base.errors import InvalidInput, check_known, unknown_name
from topoopt.base.plugins import ACCELERATORS, EntryPoint, entry_points
from topoopt.catalog.tables import Row, read_nouns
from topoopt.schema.files import EveryKey, Strict, packaged_rows, parse_toml, validated

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4")
"""Number formats of the arithmetic. ``fp32`` is without tensor cores, the others are dense (no sparsity)."""
BYTES_PER_ELEMENT = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 0.5}
"""Bytes that a number occupies in memory and on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator, with what its maker promises.

    Attributes
    ----------
    name : str
        Full name, such as ``A100-SXM4-40GB``.
    aliases : tuple of str
        Short names that :func:`find_accelerator` takes for it.
    peaks : mapping of precision to FLOP/s
        Dense peak rates; a precision that the part lacks, or whose rate is not known, is not in it.
    memory_bytes, memory_bandwidth_bytes_per_s : float
        Size and bandwidth of its own memory.
    scale_up_bandwidth_bps : float or None
        Bits per second in one direction to the other accelerators of its scale-up domain (NVLink, …).
    scale_up_domain : str
        How many accelerators that link joins.
    nic_bandwidth_bps : float or None
        Network bandwidth per accelerator in the reference system.
    tdp_w : float or None
        Thermal design power.
    quality, source, note : str
        Where the row comes from, and how sure it is.
    """

    name: str
    aliases: tuple[str, ...] = ()
    architecture: str
    peaks: Mapping[str, float] = field(hash=False)
    memory_bytes: float
    memory_bandwidth_bytes_per_s: float
    scale_up_link: str
    scale_up_bandwidth_bps: float | None = None
    scale_up_domain: str
    nic_bandwidth_bps: float | None = None
    tdp_w: float | None = None
    quality: str
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        for precision in self.peaks:
            check_known("peaks", precision, PRECISIONS)
        for rate in (*self.peaks.values(), self.memory_bytes, self.memory_bandwidth_bytes_per_s):
            if not rate > 0:
                raise InvalidInput(f"{self.name}: rates and sizes must be positive, got {rate:g}")

    def peak_flops(self, precision: str) -> float:
        """Return the dense peak rate in FLOP/s.

        Raises
        ------
        InvalidInput
            If there is no such precision, or this accelerator lacks it.

        Examples
        --------
        >>> find_accelerator("a100").peak_flops("tf32")
        156000000000000.0
        """
        check_known("precision", precision, PRECISIONS)
        if precision not in self.peaks:
            has = ", ".join(self.peaks) or "none of known rate"
            raise InvalidInput(f"precision: {self.name} has no {precision}; it has {has}")
        return self.peaks[precision]


class _File(Strict):
    accelerator: Annotated[
        Accelerator,
        EveryKey("aliases", "scale_up_bandwidth_bps", "nic_bandwidth_bps", "tdp_w", "note"),
    ]


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """Return every accelerator of the catalogue, in its order, and those that plug-ins add."""
    return tuple(dict.fromkeys(part for part in _by_name().values() if isinstance(part, Accelerator)))


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator with this name or alias; capitals do not matter.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names, or if one of a plug-in cannot be used.

    Examples
    --------
    >>> find_accelerator("H100").name, find_accelerator("a100-sxm4-40gb").aliases
    ('H100-SXM5-80GB', ('a100', 'a100-40gb'))
    """
    part = _by_name().get(name.strip().lower())
    if isinstance(part, InvalidInput):
        raise part
    if part is None:
        for one in _by_name().values():
            if isinstance(one, InvalidInput):  # what could not be read may be what was meant
                raise one
        raise unknown_name("accelerator", name.lower(), _by_name())
    return part


@cache
def _by_name() -> Mapping[str, Accelerator | InvalidInput]:
    """Return the accelerators by their names; an error for a name of two, and by the name of what is not readable."""
    found: dict[str, Accelerator | InvalidInput] = {}
    for part in read_nouns(Accelerator, "accelerators", aliases=_aliases, peaks=_peaks):
        found |= dict.fromkeys(_names(part), part)
    for one in entry_points(ACCELERATORS):
        try:
            for part in _added(one):
                for name in _names(part):
                    found[name] = one.error(f"{name} is another accelerator, too") if name in found else part
        except InvalidInput as error:
            found[str(one)] = error
    return found


def _names(part: Accelerator) -> list[str]:
    return [name.lower() for name in (part.name, *part.aliases)]


def _added(one: EntryPoint) -> Iterator[Accelerator]:
    """Yield the accelerators of a plug-in: each is a TOML file in the package that its entry point names."""
    for file in sorted(resources.files(one.load()).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            try:
                content = parse_toml(file.read_text(encoding="utf-8"), file.name)
                yield validated(_File, content, file.name).accelerator
            except (InvalidInput, UnicodeDecodeError) as error:
                raise one.error(str(error)) from None


def _aliases(row: Row) -> tuple[str, ...]:
    return tuple(row["aliases"].split(";")) if row["aliases"] else ()


def _peaks(row: Row) -> dict[str, float]:
    rates = {precision: row[f"{precision}_tflops"] for precision in PRECISIONS}
    return {precision: float(rate) * 1e12 for precision, rate in rates.items() if rate}


@dataclass(frozen=True, slots=True)
class AcceleratorServer:
    """A server, or a rack that is bought as one.

    Attributes
    ----------
    accelerator : str
        Name in the catalogue of accelerators.
    accelerators : int
        How many are in it.
    low_usd, typical_usd, high_usd : float or None
        Its price, without the network between servers; None where no public figure is known.
    rated_w : float or None
        What its maker says that it draws at most.
    date : str
        Month of the prices.
    """

    name: str
    accelerator: str
    accelerators: int
    low_usd: float | None
    typical_usd: float | None
    high_usd: float | None
    rated_w: float | None
    date: str
    quality: str
    source: str
    note: str = ""


@cache
def accelerator_servers() -> tuple[AcceleratorServer, ...]:
    """Return every server of the catalogue, in its order."""
    return read_nouns(AcceleratorServer, "accelerator_servers")


def server_with(accelerator: str) -> AcceleratorServer | None:
    """Return the server that has an accelerator, None where the catalogue has no such server.

    Raises
    ------
    InvalidInput
        If there is no such accelerator.

    Examples
    --------
    >>> server_with("h100").typical_usd, server_with("v100")
    (270000.0, None)
    """
    name = find_accelerator(accelerator).name
    return next((row for row in accelerator_servers() if row.accelerator == name), None)


def host_bytes_per_s(part: Accelerator) -> float | None:
    """Return bytes per second each way; by the accelerator's own row, or that of its architecture. None: not known.

    Examples
    --------
    >>> from topoopt.catalog import find_accelerator
    >>> host_bytes_per_s(find_accelerator("h100"))
    63000000000.0
    """
    rates = _rates()
    return rates.get(part.name, rates.get(part.architecture))


@cache
def _rates() -> dict[str, float]:
    return {row["accelerators"]: float(row["bytes_per_s"]) for row in packaged_rows("catalog", "host_links")}
