"""What part of its promised peaks an accelerator really reaches: the one table of the roofline.

An operator takes the longer of its FLOPs over the reached compute rate and its bytes over the reached memory
bandwidth, and never less than the launch floor. The values come from ``data/efficiency.csv`` and from the files of
accelerators; each row says where its value comes from.
"""

from dataclasses import dataclass, replace
from functools import cache

from topoopt.base.errors import check_known
from topoopt.catalog.accelerator import (
    EFFICIENCY_KINDS,
    PRECISIONS,
    EfficiencyRow,
    accelerator_files,
    find_accelerator,
)
from topoopt.catalog.tables import read_nouns

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
