"""Layers of a pipeline stage, and how many micro-batches of activations it holds at its fullest moment."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.configuration_table import Bools, ConfigurationTable
from topoopt.workloads.transformer import TransformerModel

_DENSE = 16
"""Ratio of numbers to keys above which sorting is faster than counting: stages × chunks × micro-batches in flight
are millions of numbers for thousands of configurations."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of every configuration, each column of shape (configurations,).

    Attributes
    ----------
    layers, moe_layers : float array
        Layers on it, and those of them with experts.
    in_flight : float array
        Micro-batches whose activations it holds for all of its layers; not whole when interleaved. In a pipeline from
        both ends those of the rank's two stages, whose layers are together here.
    kept_layers, kept_moe_layers : float array
        Layers whose activations it holds, once for each micro-batch; chunks that are passed first are held most often.
    is_first, is_last : bool array
    """

    index: Ints
    layers: Floats
    moe_layers: Floats
    in_flight: Floats
    kept_layers: Floats
    kept_moe_layers: Floats
    is_first: Bools
    is_last: Bools


def stage_of(
    model: TransformerModel, table: ConfigurationTable, index: Ints, ends_are_layers: bool = False
) -> Stage:
    """Return stage ``index`` of every configuration.

    Layers that do not divide by the chunks go one each to the first chunks, so early stages are never less full
    than they may be. Where the chunks divide two layers more than there are, ``ends_are_layers`` says that embedding
    and output layer take the place of a layer each; they do so where the chunks are two more than the layers.
    """
    in_flight = count_in_flight(table, index)
    if not np.any(both := two_way(table)):
        here = _one_way(model, table, index, ends_are_layers, in_flight)
        return Stage(index, *here[:2], in_flight, *here[2:], index == 0, index == table.pp - 1)
    mirror = table.pp - index - 1
    own, other = (
        _one_way(model, table, place, ends_are_layers, np.where(both, _straight(table, place), in_flight))
        for place in (index, mirror)
    )
    layers, moe_layers, kept, kept_moe = (
        here + np.where(both, there, 0.0) for here, there in zip(own, other, strict=True)
    )
    first, last = (((index == end) | (both & (mirror == end))) for end in (0, table.pp - 1))
    return Stage(index, layers, moe_layers, in_flight, kept, kept_moe, first, last)


def first_holds_most(model: TransformerModel, table: ConfigurationTable, ends_are_layers: bool) -> bool:
    """Return whether no stage between the first and the last can hold more than the first, in any configuration.

    So it is where layers are alike and no stage has more of them: later stages have fewer micro-batches in flight.
    """
    if model.experts is not None and any(not model.is_moe(layer) for layer in range(model.layers)):
        return False
    if np.any(two_way(table)):
        return False
    chunks = table.pp * table.vpp
    fewer = chunks > model.layers
    if ends_are_layers:
        fewer = fewer | ((model.layers % chunks > 0) & ((model.layers + 2) % chunks == 0))
    return not np.any(fewer)


def _one_way(
    model: TransformerModel, table: ConfigurationTable, index: Ints, ends: bool, in_flight: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a stage's layers and its layers with experts, and both weighted by micro-batches in flight; MTP is
    last."""
    layers, moe_layers, kept, kept_moe = _layers(model, table, index, ends, in_flight)
    if not model.mtp_layers:
        return layers, moe_layers, kept, kept_moe
    further = model.mtp_layers * (index == table.pp - 1)
    moe = further * model.is_moe(model.layers - 1)
    return layers + further, moe_layers + moe, kept + further * in_flight, kept_moe + moe * in_flight


def two_way(table: ConfigurationTable) -> Bools:
    """Return which pipelines are filled from both ends, such that every rank has two stages (DualPipe)."""
    return table.has_word("schedule", "dualpipe")


def count_in_flight(table: ConfigurationTable, index: Ints) -> Floats:
    """Return the micro-batches in flight in stage ``index`` under 1F1B, or interleaved 1F1B, shape
    (configurations,).

    1F1B: the forward passes before the first backward, ``p - i``. Interleaved: ``2(p - i - 1) + (v - 1)p + 1``
    chunks of ``1/v`` of the layers, which is ``1 + (p - 1)/(p v)`` times the layers of the model on stage 0
    (Korthikanti 2022, section 4.2.3). DualPipe: ``p + 1`` on all ranks (DeepSeek-V3, Table 2), ``p - i`` of stage ``i``
    and ``i + 1`` of its mirror image. ZB-H1: ``p`` on all stages, as the first one of 1F1B (Qi 2023, section 2.2):
    those that are back wait for the gradients of weights.
    """
    straight = _straight(table, index)
    if np.any(both := two_way(table)):
        return np.where(both, straight + _straight(table, table.pp - index - 1), straight)
    return straight


def _straight(table: ConfigurationTable, index: Ints) -> Floats:
    """Return the micro-batches that pass stage ``index`` in one direction before the first of them returns."""
    behind = table.pp - index - 1
    chunks = np.where(table.vpp > 1, 2 * behind + (table.vpp - 1) * table.pp + 1, behind + 1)
    if np.any(table.schedule):
        chunks = np.where(table.has_word("schedule", "zero-bubble"), table.pp, chunks)
    micro_batches = np.maximum(table.global_batch // (table.dp * table.micro_batch), 1)
    return np.asarray(np.minimum(chunks, micro_batches * table.vpp) / table.vpp, np.float64)


def _layers(
    model: TransformerModel, table: ConfigurationTable, index: Ints, ends: bool, in_flight: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the layers of stage ``index`` and those of them with experts, on it and held for micro-batches in flight.

    They follow from stages, chunks and chunks in flight, of which few go together, so they are looked up.
    """
    stages, turns = int(table.pp.max(initial=1)) + 1, int(table.vpp.max(initial=1)) + 1
    flying = np.rint(in_flight * table.vpp).astype(np.int64)
    most = int(flying.max(initial=0)) + 1
    key = ((table.pp * turns + table.vpp) * stages + index) * most + flying
    present, row = _distinct(key)
    experts = _experts_before(model)
    rows = np.empty((4, len(present)))
    for place, one in enumerate(present.tolist()):
        rest, held = divmod(one, most)
        rest, stage = divmod(rest, stages)
        rows[:, place] = _of_stage(experts, (*divmod(rest, turns), stage, held), ends)
    layers, moe_layers, kept, kept_moe = (of[row] for of in rows)
    return layers, moe_layers, kept, kept_moe


def _distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, ascending, and which of them each one is; small ones are counted, not sorted.

    Examples
    --------
    >>> [part.tolist() for part in _distinct(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    if int(keys.max(initial=0)) > _DENSE * len(keys):
        present, row = np.unique(keys, return_inverse=True)
        return present, row
    present = np.flatnonzero(np.bincount(keys, minlength=1))
    row_of = np.zeros(int(present.max(initial=0)) + 1, np.int64)
    row_of[present] = np.arange(len(present))
    return present, row_of[keys]


@lru_cache
def _experts_before(model: TransformerModel) -> tuple[int, ...]:
    return tuple(accumulate((int(model.is_moe(layer)) for layer in range(model.layers)), initial=0))


@lru_cache(maxsize=4096)
def _of_stage(
    before: tuple[int, ...], place: tuple[int, int, int, int], ends: bool
) -> tuple[float, float, float, float]:
    """Return layers and layers with experts of stage ``(pp, vpp, index, chunks in flight)``, and those held.

    ``before`` counts the layers with experts before each layer. With interleaving ``pp`` micro-batches pass a chunk
    before they pass the next one.
    """
    pp, vpp, index, flying = place
    sums = np.zeros((vpp + 1, 2), np.int64)
    for turn in range(vpp):
        chunk = index + turn * pp
        begin, end = (_begin(len(before) - 1, part, pp * vpp, ends) for part in (chunk, chunk + 1))
        sums[turn + 1] = sums[turn] + (end - begin, before[end] - before[begin])
    rounds, more = divmod(flying, pp * vpp)
    done, some = divmod(more, pp)
    now, following = sums[done], sums[min(done + 1, vpp)]
    held = pp * (rounds * sums[vpp] + now) + some * (following - now)
    return sums[vpp][0], sums[vpp][1], held[0], held[1]


def _begin(layers: int, chunk: int, chunks: int, ends: bool) -> int:
    """Return the first layer of a chunk, or of all that follow."""
    base, rest = divmod(layers, chunks)
    if chunks > layers or (ends and rest and (layers + 2) % chunks == 0):
        return min(max(chunk * ((layers + 2) // chunks) - 1, 0), layers)
    return chunk * base + min(chunk, rest)
