"""Layers that differ: the mean of what each kind keeps, and what a recurrence keeps."""

from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.workloads.transformer import TransformerModel, layer_kinds

ColumnsT = TypeVar("ColumnsT")


def mean_of_kinds(
    model: TransformerModel, layer_is_moe: bool, of_kind: Callable[[TransformerModel], ColumnsT]
) -> ColumnsT:
    """Return columns of an average layer with experts, or without, of a model whose layers differ otherwise.

    Kinds of layers are spread evenly over such models, so that every stage has about the same of each.

    Parameters
    ----------
    of_kind : function
        Of a model of one kind of layers: a dataclass of columns.
    """
    kinds = [kind for kind in layer_kinds(model) if kind.is_moe == layer_is_moe] or [layer_kinds(model)[0]]
    rows = [(len(kind.layers), of_kind(kind.model)) for kind in kinds]
    whole = sum(count for count, _ in rows)
    noun = type(rows[0][1])
    means = {
        one.name: sum(count / whole * getattr(row, one.name) for count, row in rows)
        for one in fields(noun)  # type: ignore[arg-type]
    }
    return noun(**means)


def recurrence_kept(
    model: TransformerModel, table: ConfigurationTable, element: Floats, kept: Floats
) -> Floats:
    """Return bytes per token that a layer's recurrence keeps between its norm and the residual.

    What is projected, what comes out of the states, and what the gated norm makes of it and enters the last projection:
    convolution and states are computed again from the first (``MambaSplitConv1dScanCombinedFn`` of state-spaces/mamba).
    With the delta rule, what comes out of the convolution is kept, too (``chunk_gated_delta_rule`` of
    flash-linear-attention).
    """
    one = model.recurrence
    assert one is not None
    numbers = one.projected + 2 * one.gate_rank + one.inner
    numbers += one.convolved * (one.products > 2 and one.convolution > 0)
    return np.asarray((element * numbers + kept * one.inner) / table.tp, np.float64)
