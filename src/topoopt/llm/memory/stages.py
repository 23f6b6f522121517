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
    if model.mtp_layers:
        further = model.mtp_layers * (index == table.pp - 1)
        layers, moe_layers = layers + further, moe_layers + further * model.is_moe(model.layers - 1)
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
    """Return the layers of stage ``index``, and those of them with experts.

    They follow from stages and chunks, of which there are few, so each pair is looked up.
    """
    stages, turns = int(table.pp.max(initial=1)) + 1, int(table.vpp.max(initial=1)) + 1
    key = (table.pp * turns + table.vpp) * stages + index
    layers, with_experts = np.zeros(stages * turns * stages), np.zeros(stages * turns * stages)
    before = np.cumsum([0, *(model.is_moe(layer) for layer in range(model.layers))])
    for one in np.flatnonzero(np.bincount(key, minlength=1)):
        rest, stage = divmod(int(one), stages)
        pp, vpp = divmod(rest, turns)
        for chunk in range(stage, pp * vpp, pp):
            begin, end = (_begin(model.layers, place, pp * vpp, ends) for place in (chunk, chunk + 1))
            layers[one] += end - begin
            with_experts[one] += before[end] - before[begin]
    return layers[key], with_experts[key]


def _begin(layers: int, chunk: int, chunks: int, ends: bool) -> int:
    """Return the first layer of a chunk, or of all that follow."""
    base, rest = divmod(layers, chunks)
    if ends and rest and (layers + 2) % chunks == 0:
        return min(max(chunk * ((layers + 2) // chunks) - 1, 0), layers)
    return chunk * base + min(chunk, rest)
