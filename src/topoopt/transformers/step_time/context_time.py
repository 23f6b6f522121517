"""What ranks that split a sequence wait for, so that every query meets all keys and values.

Three ways, each with the core's work in equal parts. A ring and an all-gather give every rank two pieces of the
sequence, one from its front and one from its end, so that a causal mask leaves all ranks as much to do (Llama 3,
section 3.3.2; ``zigzag`` elsewhere). With Ulysses every rank has the whole sequence for a part of the heads.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.layer_time import LayerKernels
from topoopt.transformers.step_time.recurrence_time import state_exchange_s


def context_s(case: Case, layer: LayerKernels, again: Floats) -> Floats:
    """Return the waits of one micro-batch in one layer, both passes.

    Parameters
    ----------
    again : array
        1 where the backward pass computes the core once more.
    """
    table = case.table
    if not np.any(table.cp > 1):
        return np.zeros_like(case.tp)
    wait_s = _ring_s(case, layer, again)
    if np.any(table.context > 0):
        wait_s = np.where(table.has_word("context", "ulysses"), _exchanges_s(case, again), wait_s)
        wait_s = np.where(table.has_word("context", "all-gather"), _gathers_s(case, again), wait_s)
    if case.shapes.any_recurrence:
        wait_s = wait_s + case.shapes.recurrent_share * state_exchange_s(case)
    return np.where(table.cp > 1, wait_s, 0.0)


def key_round_s(case: Case) -> Floats:
    """Return the time in which keys and values go round the context ranks once, forward, in an average layer."""
    return case.shapes.attention_share * case.links.ring_s(
        case.table.cp.astype(np.float64), case.tp, _keys_bytes(case)
    )


def _ring_s(case: Case, layer: LayerKernels, again: Floats) -> Floats:
    """Return what the core does not hide of the keys and values that go round (Liu et al. 2023).

    Backward they go around twice, with their gradients.
    """
    return np.maximum((3 + again) * key_round_s(case) - (2 + again) * layer.core_s, 0.0)


def _exchanges_s(case: Case, again: Floats) -> Floats:
    """Return the all-to-alls of queries, keys, values and the core's output (Jacobs et al. 2023, Ulysses).

    Heads of keys and values are repeated where there are fewer than ranks. Nothing hides: the core needs all of them,
    and what follows needs all of its output.
    """
    shapes, cp = case.shapes, case.table.cp.astype(np.float64)
    heads, keys = shapes.heads / case.tp, np.maximum(shapes.kv_heads / case.tp, cp)
    widths = (
        heads * shapes.head_dim,
        keys * shapes.head_dim,
        keys * shapes.value_dim,
        heads * shapes.value_dim,
    )
    once = sum(case.links.exchange_s(cp, case.tp, 2 * case.tokens * width) for width in widths)
    return (2 + again) * once * shapes.attention_share


def _gathers_s(case: Case, again: Floats) -> Floats:
    """Return the all-gathers of keys and values, once more backward, and the reduce-scatter of their gradients.

    They come before the core and behind it, exposed (Llama 3, section 3.3.2): cheap where there are few heads of keys.
    """
    cp = case.table.cp.astype(np.float64)
    return (3 + again) * case.links.gather_s(cp, case.tp, _keys_bytes(case)) * case.shapes.attention_share


def _keys_bytes(case: Case) -> Floats:
    """Return the keys and values of all context ranks together, of one tensor parallel rank."""
    shapes = case.shapes
    width = np.maximum(shapes.kv_heads / case.tp, 1) * (shapes.head_dim + shapes.value_dim)
    return 2 * case.tokens * width * case.table.cp
