"""Strategies that split many operators in one way: tables in columns, all layers or a part of them in parts."""

from collections.abc import Sequence

from topoopt.jobs import Job, operators_of
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy

COLUMNS = (2, 4, 8, 16)
"""Parts of a table."""

DEGREES = (2, 4, 8)
"""Parts of a layer."""

LAYER_DIMS = ("in", "out")


def split_tables(job: Job, start: ParallelStrategy, columns: int) -> ParallelStrategy:
    """Return the strategy with tables in so many columns, round-robin from the first server on."""
    splits, placed = list(start.splits), 0
    for index, op in enumerate(operators_of(job).graph.operators):
        if op.is_embedding and "columns" in op.splits and columns > 1:
            splits[index] = OperatorSplit(1, placed % (start.servers // columns), columns, "columns")
            placed += 1
    return ParallelStrategy(start.servers, tuple(splits))


def split_layers(
    job: Job, start: ParallelStrategy, degree: int, dim: str, layers: Sequence[int]
) -> ParallelStrategy:
    """Return the strategy with these data-parallel layers split in so many parts, where they can be on this dim."""
    splits, operators = list(start.splits), operators_of(job).graph.operators
    for index in layers:
        if dim in operators[index].splits:
            splits[index] = OperatorSplit(max(splits[index].batch_degree // degree, 1), 0, degree, dim)
    return ParallelStrategy(start.servers, tuple(splits))


def layers_of(job: Job) -> tuple[int, ...]:
    """Return the operators that can be split on input or output channels."""
    operators = operators_of(job).graph.operators
    return tuple(index for index, op in enumerate(operators) if op.splits & set(LAYER_DIMS))


def parts_of(layers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return parts of the layers: three quarters and half of them from either end, and every other one.

    Examples
    --------
    >>> parts_of((0, 1, 2, 3))
    ((0, 1, 2), (1, 2, 3), (0, 1), (2, 3), (0, 2), (1, 3))
    """
    count, rows = len(layers), list[Sequence[int]]()
    for share in (3 * count // 4, count // 2):
        rows += [layers[:share], layers[count - share :]]
    rows += [layers[::2], layers[1::2]]
    return tuple(dict.fromkeys(tuple(row) for row in rows if 0 < len(row) < count))


def has_columns(job: Job) -> bool:
    """Return whether there are tables that can be split in columns."""
    return any(op.is_embedding and "columns" in op.splits for op in operators_of(job).graph.operators)
