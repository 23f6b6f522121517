"""Accelerators and servers that can be bought, and the part of its promised peaks that each reaches.

An operator takes the longer of its FLOPs over the reached compute rate and its bytes over the reached memory
bandwidth, and never less than the launch floor. The values come from ``data/efficiency.csv`` and from the files of
accelerators; each row has its source.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Annotated

from topoopt.base.errors import InvalidInput, check_known, unknown_name
from topoopt.base.plugins import ACCELERATORS, EntryPoint, entry_points
from topoopt.catalog.parts import read_nouns
from topoopt.schema.files import Number, OneOf, Positive, Strict, parse_toml, validated

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4")
"""Number formats of the arithmetic. ``fp32`` is without tensor cores, the others are dense (no sparsity)."""
BYTES_PER_ELEMENT = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 0.5}
"""Bytes that a number occupies in memory and on the wire."""
USABLE = 79.14 / 80
"""GiB that a program can allocate per GB that a part is sold with. Makers write GB for GiB: an "80 GB" A100 has 81,920
MiB by nvidia-smi, of which PyTorch's messages name 79.14 to 79.33 GiB on an A100 or H100 (79.25 in
github.com/wbfwonderful/Vad-R1/issues/11); this is the least of those."""
EFFICIENCY_KINDS = ("matmul", "conv", "attention", "embedding", "elementwise", "pool", "concat")
"""The kinds of operator that efficiencies distinguish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """An accelerator with its data-sheet figures.

    Attributes
    ----------
    name : str
        Full name, such as ``A100-SXM4-40GB``.
    aliases : tuple of str
        Short names that :func:`find_accelerator` takes for it.
    peaks : mapping of precision to FLOP/s
        Dense peak rates; a precision that the part lacks, or whose rate is not known, is not in it.
    memory_bytes, memory_bandwidth_bytes_per_s : float
        Size of its own memory as its maker writes it, and its bandwidth.
    visible_memory_bytes : float or None
        Memory that a program can allocate, where it is known: ``total_memory`` of PyTorch.
    scale_up_bandwidth_bps : float or None
        Bits per second in one direction to the other accelerators of its scale-up domain (NVLink, …).
    scale_up_domain : str
        Accelerators that the scale-up link joins.
    nic_bandwidth_bps : float or None
        Network bandwidth per accelerator in the reference system.
    tdp_w : float or None
        Thermal design power.
    quality, source, note : str
        Source of the row and how certain it is.
    """

    name: str
    aliases: tuple[str, ...] = ()
    architecture: str
    peaks: Mapping[str, float] = field(hash=False)
    memory_bytes: float
    memory_bandwidth_bytes_per_s: float
    visible_memory_bytes: float | None = None
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
        sizes = (self.memory_bytes, self.usable_memory_bytes, self.memory_bandwidth_bytes_per_s)
        for rate in (*self.peaks.values(), *sizes):
            if not rate > 0:
                raise InvalidInput(f"{self.name}: rates and sizes must be positive, got {rate:g}")

    @property
    def usable_memory_bytes(self) -> float:
        """Memory that a program can allocate: as reported where known, else by :data:`USABLE`."""
        return self.visible_memory_bytes or USABLE * self.memory_bytes / 1e9 * 2**30

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorServer:
    """A server, or a rack that is bought as one.

    Attributes
    ----------
    accelerator : str
        Name in the catalogue of accelerators.
    low_usd, typical_usd, high_usd : float or None
        Price without the network between servers; None where no public figure is known.
    rated_w : float or None
        Maximum power by the maker's data sheet.
    date : str
        Month of the prices.
    """

    name: str
    accelerator: str = ""
    accelerators: Number
    low_usd: Positive | None = None
    typical_usd: Positive | None = None
    high_usd: Positive | None = None
    rated_w: Positive | None = None
    date: str
    quality: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EfficiencyRow:
    """One row of the table of efficiencies: a value and its origin.

    Attributes
    ----------
    quantity : str
        ``compute`` or ``memory`` (fractions of the peak) or ``launch_floor_s``.
    kind, precision, accelerator : str
        Scope of the value; ``any`` matches all. A row that names the accelerator wins over one for any.
    quality : str
        ``measured``, ``published``, ``derived`` (from other rows) or ``assumed``.
    """

    quantity: Annotated[str, OneOf(("compute", "memory", "launch_floor_s"))]
    kind: Annotated[str, OneOf(EFFICIENCY_KINDS)]
    precision: Annotated[str, OneOf((*PRECISIONS, "any"))]
    accelerator: str = "any"
    value: Positive
    quality: str
    source: str


@dataclass(frozen=True, slots=True)
class HostLink:
    """Link to the host, with its rate per direction."""

    link: str
    bytes_per_s: Positive
    source: str


@dataclass(frozen=True, slots=True)
class Relative:
    """The accelerator whose calibration of step times another one takes over.

    The share of the peak that matrix products reach is multiplied by ``gemm_factor``; ``attention`` is one of
    :data:`~topoopt.transformers.ATTENTIONS`.
    """

    accelerator: str
    gemm_factor: Positive
    attention: str
    reason: str


class AcceleratorFile(Strict):
    """The file of one accelerator, with all that the catalogue states of it.

    ``order`` is its place in lists and ``server_order`` that of its server, if different; those of equal order
    are sorted by name. ``device_names`` are parts of its names in drivers, if these differ.
    """

    order: int = 1000
    server_order: int | None = None
    device_names: tuple[str, ...] = ()
    accelerator: Accelerator
    host_link: HostLink | None = None
    server: AcceleratorServer | None = None
    relative: Relative | None = None
    efficiency: tuple[EfficiencyRow, ...] = ()


def accelerators() -> tuple[Accelerator, ...]:
    """Return every accelerator of the catalogue, in its order, including those of plug-ins."""
    return tuple(one.accelerator for one in accelerator_files())


@cache
def accelerator_files() -> tuple[AcceleratorFile, ...]:
    """Return the files of all accelerators, in their order."""
    files = (one for one in _by_name().values() if isinstance(one, AcceleratorFile))
    return tuple({one.accelerator: one for one in files}.values())


_KIND_OF_OPERATOR = {
    "dense": "matmul",
    "linear": "matmul",
    "conv2d": "conv",
    "lookup": "embedding",
    "pool2d": "pool",
    **{kind: kind for kind in EFFICIENCY_KINDS},
}


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Fractions of the peak compute rate and memory bandwidth, and the least time of an operator."""

    compute: float
    memory: float
    launch_floor_s: float
    source: str


def efficiency_kind(operator_kind: str) -> str:
    """Return the row of the table for a kind of operator; unknown kinds are elementwise.

    Examples
    --------
    >>> efficiency_kind("dense"), efficiency_kind("add")
    ('matmul', 'elementwise')
    """
    return _KIND_OF_OPERATOR.get(operator_kind, "elementwise")


def roofline_efficiency(precision: str, operator_kind: str, accelerator: str = "any") -> Efficiency:
    """Return the fractions of the peaks that an operator reaches.

    Parameters
    ----------
    precision
        A name in :data:`~topoopt.catalog.PRECISIONS`.
    operator_kind
        A kind of :data:`EFFICIENCY_KINDS` or of an operator graph (see :func:`efficiency_kind`). Kinds that
        do little arithmetic have no compute row of their own and take that of ``matmul``: bytes bind them.
    accelerator
        A name or alias, to prefer measurements on that part; ``any`` for the general rows.

    Raises
    ------
    InvalidInput
        If the precision or the accelerator is unknown.

    Examples
    --------
    >>> roofline_efficiency("bf16", "dense", "h100").compute
    0.803
    """
    check_known("precision", precision, PRECISIONS)
    part = accelerator if accelerator == "any" else find_accelerator(accelerator).name
    kind = efficiency_kind(operator_kind)
    computed = kind if kind in ("matmul", "conv", "attention") else "matmul"
    compute = _row("compute", computed, precision, part)
    memory = _row("memory", kind, precision, part)
    floor = _row("launch_floor_s", kind, precision, part)
    source = "; ".join(
        f"{row.quantity} {row.value:g}, {row.quality}: {row.source}" for row in (compute, memory, floor)
    )
    return Efficiency(compute.value, memory.value, floor.value, source)


@cache
def efficiency_table() -> tuple[EfficiencyRow, ...]:
    """Return every row of the table: below each row for any accelerator those of accelerators."""
    rows = read_nouns(EfficiencyRow, "efficiency", accelerator=lambda row: "any")
    places = {(row.quantity, row.kind, row.precision): place for place, row in enumerate(rows)}
    of_all = ((one.accelerator.name, row) for one in accelerator_files() for row in one.efficiency)
    every = (*rows, *(replace(row, accelerator=name) for name, row in of_all))
    return tuple(
        sorted(every, key=lambda row: places.get((row.quantity, row.kind, row.precision), len(rows)))
    )


@cache
def _row(quantity: str, kind: str, precision: str, accelerator: str) -> EfficiencyRow:
    rows = [
        row
        for row in efficiency_table()
        if row.quantity == quantity
        and row.kind == kind
        and row.precision in (precision, "any")
        and row.accelerator in (accelerator, "any")
    ]
    return max(rows, key=lambda row: (row.accelerator != "any", row.precision != "any"))


DEFAULT_ACCELERATOR = "h100"
"""The accelerator of transformers where none is named."""


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator with this name or alias; capitals do not matter.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names, or if its file cannot be used.

    Examples
    --------
    >>> find_accelerator("H100").name, find_accelerator("a100-sxm4-40gb").aliases
    ('H100-SXM5-80GB', ('a100', 'a100-40gb'))
    """
    return accelerator_file(name).accelerator


def accelerator_file(name: str) -> AcceleratorFile:
    """Return the file of the accelerator with this name or alias, or refuse it as :func:`find_accelerator` does."""
    file = _by_name().get(name.strip().lower())
    if isinstance(file, InvalidInput):
        raise file
    if file is None:
        known = [word for word, one in _by_name().items() if isinstance(one, AcceleratorFile)]
        unread = [one for one in _by_name().values() if isinstance(one, InvalidInput)]
        unknown = unknown_name("accelerator", name.lower(), known)
        if unread and "did you mean" not in str(unknown):  # what could not be read may be what was meant
            raise InvalidInput("; ".join(dict.fromkeys(map(str, unread))))
        raise unknown
    return file


@cache
def accelerator_servers() -> tuple[AcceleratorServer, ...]:
    """Return every server of the catalogue, in its order."""
    files = sorted(accelerator_files(), key=lambda one: one.server_order or one.order)
    return tuple(replace(one.server, accelerator=one.accelerator.name) for one in files if one.server)


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
    """Return the bandwidth between an accelerator and its host, bytes/s per direction; None if unknown.

    Examples
    --------
    >>> host_bytes_per_s(find_accelerator("h100"))
    63000000000.0
    """
    link = accelerator_file(part.name).host_link
    return link.bytes_per_s if link else None


@cache
def _by_name() -> Mapping[str, AcceleratorFile | InvalidInput]:
    """Return the files by accelerator name, and errors by unusable file, such as one with a duplicate name."""
    read = [pair for one in entry_points(ACCELERATORS) for pair in _read(one)]
    files = [(one, file) for one, file in read if isinstance(file, AcceleratorFile)]
    found: dict[str, AcceleratorFile | InvalidInput] = {}
    for one, file in sorted(files, key=lambda pair: (pair[1].order, pair[1].accelerator.name)):
        names = [word.lower() for word in (file.accelerator.name, *file.accelerator.aliases)]
        taken = next((name for name in names if name in found), None)
        if taken is None:
            found |= dict.fromkeys(names, file)
        else:
            error = one.error(f"{file.accelerator.name}: {taken} is another accelerator, too")
            for name in (str(error), *names):
                found.setdefault(name, error)
    return found | {str(error): error for _, error in read if isinstance(error, InvalidInput)}


def _read(one: EntryPoint) -> Iterator[tuple[EntryPoint, AcceleratorFile | InvalidInput]]:
    """Yield the parsed TOML files in an entry point's package, or the error."""
    try:
        folder = sorted(resources.files(one.load()).iterdir(), key=lambda file: file.name)
    except InvalidInput as error:
        yield one, error
        return
    for file in (file for file in folder if file.name.endswith(".toml")):
        try:
            content = parse_toml(file.read_text(encoding="utf-8"), file.name)
            yield one, validated(AcceleratorFile, content, file.name)
        except (InvalidInput, UnicodeDecodeError) as error:
            yield one, one.error(f"{file.name}: {str(error).removeprefix(f'{file.name}: ')}")
