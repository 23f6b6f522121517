"""How much work and memory a size means, to measure the small ones first and to refuse what cannot fit."""

from collections.abc import Iterable

from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.plugins.profiling.subject import SubjectOperator
from topoopt.workloads import PartSize

FLOPS_PER_BYTE = 10.0
"""Rough exchange rate of operations for bytes; only the order of sizes hangs on it."""


def work_of(op: SubjectOperator, size: PartSize) -> float:
    """Return the work of one forward pass, in bytes or what takes as long; for comparisons only."""
    o, degree = op.operator, size.channel_degree
    flops = size.samples * o.forward_flops_per_sample / degree
    return flops / FLOPS_PER_BYTE + _moved_bytes(op, size)


def by_work(op: SubjectOperator, sizes: Iterable[PartSize]) -> list[PartSize]:
    """Return sizes of an operator, those of least work first."""
    return sorted(sizes, key=lambda size: work_of(op, size))


def needed_bytes(op: SubjectOperator, size: PartSize, precision: str) -> float:
    """Return about how much memory the two passes take: everything and a gradient of everything.

    What a table's sparse gradient holds is what was fetched; its weights have no dense one.
    """
    o = op.operator
    weights = o.parameter_bytes / size.channel_degree
    copies = 1 if o.is_embedding else 2
    held = copies * weights + 2 * (_moved_bytes(op, size) - (0.0 if o.is_embedding else weights))
    return held * BYTES_PER_ELEMENT[precision] / 4


def _moved_bytes(op: SubjectOperator, size: PartSize) -> float:
    o, degree = op.operator, size.channel_degree
    weights = 0.0 if o.is_embedding else o.parameter_bytes / degree
    share = 1.0 / degree if o.is_embedding else (1.0 + 1.0 / degree) / 2.0
    return size.samples * o.memory_traffic_bytes_per_sample * share + weights
