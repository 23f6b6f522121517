"""What part of its promised peaks an accelerator really reaches: the one table of the roofline.

An operator takes the longer of its FLOPs over the reached compute rate and its bytes over the reached memory
bandwidth, and never less than the launch floor. The values come from ``data/efficiency.csv``; each of its rows
says where its value comes from.
"""

from dataclasses import dataclass
from functools import cache

from topoopt.base.errors import check_known
from topoopt.catalog.accelerator import PRECISIONS, find_accelerator
from topoopt.catalog.tables import read_nouns

EFFICIENCY_KINDS = ("matmul", "conv", "attention", "embedding", "elementwise", "pool", "concat")
"""The kinds of operator that the table distinguishes."""

_KIND_OF_OPERATOR = {
    "dense": "matmul",
    "linear": "matmul",
    "conv2d": "conv",
    "lookup": "embedding",
    "pool2d": "pool",
    **{kind: kind for kind in EFFICIENCY_KINDS},
}


@dataclass(frozen=True, slots=True)
class EfficiencyRow:
    """One row of the table: a value and its origin.

    Attributes
    ----------
    quantity : str
        ``compute`` or ``memory`` (fractions of the peak) or ``launch_floor_s``.
    kind, precision, accelerator : str
        What it holds for; ``any`` matches all. A row that names the accelerator wins over one for any.
    quality : str
        ``measured``, ``published``, ``derived`` (from other rows) or ``assumed``.
    """

    quantity: str
    kind: str
    precision: str
    accelerator: str
    value: float
    quality: str
    source: str


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Fractions of the peak compute rate and memory bandwidth, and the least time of an operator."""

    compute: float
    memory: float
    launch_floor_s: float
    source: str


def efficiency_kind(operator_kind: str) -> str:
    """Return the row of the table for a kind of operator; any kind it does not know is elementwise.

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
        One of :data:`~topoopt.catalog.PRECISIONS`.
    operator_kind
        A kind of :data:`EFFICIENCY_KINDS` or of an operator graph (see :func:`efficiency_kind`). Kinds that
        do little arithmetic have no compute row of their own and take that of ``matmul``: bytes bind them.
    accelerator
        A name or alias, to prefer what was measured on that part; ``any`` for the general rows.

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
    """Return every row of the table."""
    return read_nouns(EfficiencyRow, "efficiency")


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
