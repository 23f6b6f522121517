"""Layers of a pipeline stage, and how many micro-batches of activations it holds at its fullest moment."""

from dataclasses import dataclass

import numpy as np

from topoopt.llm.columns import Bools, Floats, Ints
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of every configuration, each column of shape (configurations,).

    Attributes
    ----------
    index : int64 array
        Which stage of the pipeline.
    layers, moe_layers : float array
        Layers on it, and those of them with experts.
    in_flight : float array
        Micro-batches whose activations it holds for all of its layers; not whole when interleaved.
    is_first, is_last : bool array
    """

    index: Ints
    layers: Floats
    moe_layers: Floats
    in_flight: Floats
    is_first: Bools
    is_last: Bools


def stage_of(
    model: TransformerModel, table: ConfigurationTable, index: Ints, ends_are_layers: bool = False
) -> Stage:
    """Return stage ``index`` of every configuration.

    Layers that do not divide by the chunks go one each to the first chunks, so early stages are never less full
    than they may be. Where the chunks divide two layers more than there are, ``ends_are_layers`` says that embedding
    and output layer take the place of a layer each.
    """
    layers, moe_layers = _layers(model, table, index, ends_are_layers)
    first, last = index == 0, index == table.pp - 1
    if np.any(mirrored := two_way(table)):  # a rank has a stage and its mirror image
        first, last = first | (mirrored & last), last | (mirrored & first)
    return Stage(index, layers, moe_layers, count_in_flight(table, index), first, last)


def two_way(table: ConfigurationTable) -> Bools:
    """Return which pipelines are filled from both ends, so that every rank has two stages (DualPipe)."""
    return table.has_word("schedule", "dualpipe")


def count_in_flight(table: ConfigurationTable, index: Ints) -> Floats:
    """Return how many micro-batches stage ``index`` holds under 1F1B, or interleaved 1F1B, shape (configurations,).

    1F1B: the forward passes before the first backward, ``p - i``. Interleaved: ``2(p - i - 1) + (v - 1)p + 1``
    chunks of ``1/v`` of the layers, which is ``1 + (p - 1)/(p v)`` times the layers of the model on stage 0
    (Korthikanti 2022, section 4.2.3). DualPipe: ``p + 1`` on all stages (DeepSeek-V3, Table 2); ZB-H1 as 1F1B (Qi
    2023, Table 2).
    """
    behind = table.pp - index - 1
    chunks = np.where(table.vpp > 1, 2 * behind + (table.vpp - 1) * table.pp + 1, behind + 1)
    if np.any(both := two_way(table)):
        chunks = np.where(both, table.pp + 1, chunks)
    micro_batches = np.maximum(table.global_batch // (table.dp * table.micro_batch), 1)
    return np.asarray(np.minimum(chunks, micro_batches * table.vpp) / table.vpp, np.float64)


def _layers(
    model: TransformerModel, table: ConfigurationTable, index: Ints, ends: bool
) -> tuple[Floats, Floats]:
    """Return the layers of stage ``index``, and those of them with experts."""
    if model.experts is None and not np.any(table.vpp > 1):
        begin, end = (_begin(model.layers, chunk, table.pp, ends) for chunk in (index, index + 1))
        return (end - begin).astype(np.float64), np.zeros(len(table))
    chunks = table.pp * table.vpp
    before = np.cumsum([0, *(model.is_moe(layer) for layer in range(model.layers))])
    layers, with_experts = np.zeros(len(table)), np.zeros(len(table))
    for turn in range(int(table.vpp.max(initial=1))):
        here = turn < table.vpp
        chunk = np.where(here, index + turn * table.pp, 0)
        begin, end = (_begin(model.layers, one, chunks, ends) for one in (chunk, chunk + 1))
        layers += here * (end - begin)
        if model.experts is not None:
            with_experts += here * (before[end] - before[begin])
    return layers, with_experts


def _begin(layers: int, chunk: Ints, chunks: Ints, ends: bool) -> Ints:
    """Return the first layer of a chunk, or of all that follow."""
    base, rest = np.divmod(layers, chunks)
    spread = chunk * base + np.minimum(chunk, rest)
    with_ends = (rest > 0) & ((layers + 2) % chunks == 0)
    if not ends or not np.any(with_ends):
        return spread
    edges = np.clip(chunk * ((layers + 2) // chunks) - 1, 0, layers)
    return np.where(with_ends, edges, spread)
