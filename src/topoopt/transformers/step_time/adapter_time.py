"""Kernels of low-rank adapters (LoRA, Hu et al. 2021), and their parameters, from shapes as columns.

Beside each adapted matrix two thin products, into the rank and out of it, and a sum. Thin products are slow by the
law of all products: their depth or width is the rank.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.shapes import Shapes
from topoopt.workloads.transformer import ADAPTERS, EVERYWHERE

Product = Callable[[Floats, Floats, Floats, Floats], Floats]
"""Seconds of a product from its rows, columns, depth and the peak rate."""


@dataclass(frozen=True, eq=False)
class _Linear:
    """A matrix of an average layer on one accelerator, as columns: how many there are, tokens, inputs, outputs."""

    count: Floats
    rows: Floats
    inputs: Floats
    outputs: Floats
    of_expert: bool = False


def adapter_kernels(case: Case, product_s: Product, s_per_byte: Floats) -> tuple[Floats, Floats]:
    """Return forward and backward time of the adapters of an average layer; 0 where there are none.

    Backward each product has two, for its input and for its weights.
    """
    rank = np.maximum(case.table.adapter_rank, 1).astype(np.float64)
    forward, backward = np.zeros_like(case.tp), np.zeros_like(case.tp)
    for one in _linears(case.shapes, case.table.adapters, _split(case)):
        into = product_s(one.rows, rank, one.inputs, case.usual_flops)
        out = product_s(one.rows, one.outputs, rank, case.usual_flops)
        sums = 6 * one.rows * s_per_byte  # two numbers of 16 bits are read, one is written
        forward = forward + one.count * (into + out + sums * one.outputs)
        backward = backward + one.count * (2 * (into + out) + sums * one.inputs)
    there = case.table.adapter_rank > 0
    return np.where(there, forward, 0.0), np.where(there, backward, 0.0)


def adapter_parameters(case: Case) -> tuple[Floats, Floats]:
    """Return the adapters' parameters in an average layer on one accelerator: outside of experts, and in them."""
    sums = [np.zeros_like(case.tp), np.zeros_like(case.tp)]
    for one in _linears(case.shapes, case.table.adapters, _split(case)):
        sums[one.of_expert] = sums[one.of_expert] + one.count * (one.inputs + one.outputs)
    return sums[0] * case.table.adapter_rank, sums[1] * case.table.adapter_rank


def adapter_flops_per_token(shapes: Shapes, table: ConfigurationTable) -> Floats:
    """Return the forward FLOPs of a token in the adapters of an average layer, over all accelerators."""
    whole = _Split(*np.ones(5))
    each = (
        one.count * one.rows * (one.inputs + one.outputs) for one in _linears(shapes, table.adapters, whole)
    )
    return np.asarray(2 * table.adapter_rank * sum(each), np.float64)


@dataclass(frozen=True, eq=False)
class _Split:
    """Tokens of an accelerator, by how much the busiest experts have more, and over how many each matrix is split."""

    tokens: Floats
    hottest: Floats
    tp: Floats
    ep: Floats
    etp: Floats


def _split(case: Case) -> _Split:
    return _Split(case.tokens, case.hottest, case.tp, case.ep, case.etp)


def _linears(shapes: Shapes, kind: Ints, by: _Split) -> Iterator[_Linear]:
    in_all = np.isin(kind, [ADAPTERS.index(word) for word in EVERYWHERE]).astype(np.float64)
    in_attention = in_all + np.asarray(kind == ADAPTERS.index("attention"), np.float64)
    yield from _queries_keys_values(shapes, by)
    yield _Linear(
        in_attention * shapes.attention_share,
        by.tokens,
        shapes.heads / by.tp * shapes.value_dim,
        shapes.hidden,
    )
    if not np.any(in_all):
        return
    dense = in_all * shapes.dense_share
    inner = np.maximum(shapes.ffn / by.tp, 1)
    yield _Linear(dense, by.tokens, shapes.hidden, shapes.into * inner)
    yield _Linear(dense, by.tokens, inner, shapes.hidden)
    if shapes.any_recurrence:
        mixing = in_all * shapes.recurrent_share
        inner = np.maximum(shapes.recurrent_inner / by.tp, 1)
        yield _Linear(mixing, by.tokens, shapes.hidden, np.maximum(shapes.recurrent_into / by.tp, 1))
        yield _Linear(mixing, by.tokens, inner, shapes.hidden)
    if not shapes.any_experts:
        return
    shared = in_all * shapes.moe_share * (shapes.shared_ffn > 0)
    inner = np.maximum(shapes.shared_ffn / by.tp, 1)  # of rows that have none the count is 0
    yield _Linear(shared, by.tokens, shapes.hidden, shapes.into * inner)
    yield _Linear(shared, by.tokens, inner, shapes.hidden)
    local = np.maximum(shapes.experts / by.ep, 1)
    visits = np.maximum(shapes.per_token, 1) * shapes.capacity * by.hottest
    rows = by.tokens * visits * by.etp / by.tp / local
    routed, inner = in_all * shapes.moe_share * local, np.maximum(shapes.expert_ffn / by.etp, 1)
    yield _Linear(routed, rows, shapes.expert_width, shapes.into * inner, of_expert=True)
    yield _Linear(routed, rows, inner, shapes.expert_width, of_expert=True)


def _queries_keys_values(shapes: Shapes, by: _Split) -> Iterator[_Linear]:
    tokens, one = by.tokens, shapes.attention_share
    queries = shapes.heads / by.tp * shapes.head_dim * shapes.query_parts
    keys = np.maximum(shapes.kv_heads / by.tp, 1) * (shapes.head_dim + shapes.value_dim)
    latent = one * (shapes.key_value_rank > 0)
    query_rank, key_value_rank = (np.maximum(size, 1) for size in (shapes.query_rank, shapes.key_value_rank))
    yield _Linear(one - latent, tokens, shapes.hidden, queries + keys)
    if not shapes.any_latent:
        return
    ranked = latent * (shapes.query_rank > 0)
    yield _Linear(ranked, tokens, shapes.hidden, query_rank)
    yield _Linear(latent, tokens, np.where(ranked > 0, query_rank, shapes.hidden), queries)
    yield _Linear(latent, tokens, shapes.hidden, key_value_rank + shapes.rope_dim)
    up = shapes.heads / by.tp * (shapes.head_dim - shapes.rope_dim + shapes.value_dim)
    yield _Linear(latent, tokens, key_value_rank, up)
