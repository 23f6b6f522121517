"""FLOPs of an iteration as publications count them, and the utilization that follows (MFU).

Publications differ, so a rate comes with the name of its definition, see :data:`FLOPS_DEFINITIONS`.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21, section 5.1.
.. [2] Z. Jiang et al., "MegaScale", NSDI 2024.
.. [3] A. Chowdhery et al., "PaLM", 2022, appendix B.
"""

from collections.abc import Callable, Mapping
from functools import partial

from topoopt.base.errors import InvalidInput, check_known
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.step_time.attention_time import tokens_seen
from topoopt.workloads.transformer import (
    TransformerModel,
    adapter_parameters,
    count_parameters,
    forward_flops,
    layer_kinds,
)


def megatron_flops(model: TransformerModel, sequences: int, sequence: int, passes: int = 3) -> float:
    """Return ``72·B·l·s·h²·(1 + s/6h + V/12lh)``: matrix products forward and backward, attention not halved.

    With the forward pass done again (full recomputation, 4 passes) ``96·B·l·s·h²·(1 + s/6h + V/16lh)``. For models with
    two feed-forward matrices of 4h and as many heads of keys as of queries.
    """
    layers, hidden = model.layers, model.hidden
    inside = 1 + sequence / (6 * hidden) + model.vocabulary / (4 * passes * layers * hidden)
    return float(24 * passes * sequences * layers * sequence * hidden**2 * inside)


def parameter_flops(model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return ``6·N·tokens`` with the parameters that a token meets; attention's products of tokens left out."""
    return 6.0 * count_parameters(model).active * sequences * sequence


def palm_flops(model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return ``(6·N + 12·l·H·Q·s)·tokens``: beside the parameters, heads of size Q see the whole sequence."""
    attention = 12.0 * model.attention_layers * model.heads * model.head_dim * sequence
    return (6.0 * count_parameters(model).active + attention) * sequences * sequence


def matmul_flops(model: TransformerModel, sequences: int, sequence: int, causal: bool = False) -> float:
    """Return three times the matrix products of a forward pass, from the shapes of the model.

    For every model: grouped-query and latent attention, gated feed-forward parts, experts. ``causal`` counts only the
    pairs of tokens that a causal mask leaves.
    """
    return 3.0 * forward_flops(model, sequence, causal).total_flops * sequences * sequence


FLOPS_DEFINITIONS: Mapping[str, Callable[[TransformerModel, int, int], float]] = {
    "megatron-model": megatron_flops,
    "megatron-hardware": partial(megatron_flops, passes=4),
    "6n": parameter_flops,
    "palm": palm_flops,
    "matmul": matmul_flops,
    "matmul-causal": partial(matmul_flops, causal=True),
}
"""FLOPs of an iteration from (model, sequences of the global batch, tokens of a sequence).

Published tables: MegaScale has ``megatron-model``, the chronicles of BLOOM ``megatron-hardware``, MosaicML's of MPT
``palm`` and NVIDIA's of Megatron Bridge (model TFLOP/s/GPU) ``matmul-causal``: each reproduces its table.
"""


def flops_per_iteration(definition: str, model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return the FLOPs of an iteration over all accelerators.

    Raises
    ------
    InvalidInput
        If there is no such definition.
    """
    check_known("tflops_def", definition, FLOPS_DEFINITIONS)
    return FLOPS_DEFINITIONS[definition](model, sequences, sequence)


def iteration_flops(model: TransformerModel, configuration: Configuration) -> float:
    """Return the model FLOPs of a configuration's iteration, without recomputation.

    Three times the matrix products of a forward pass, as ``matmul`` counts them; of documents that are packed into a
    sequence, attention's core counts the pairs of tokens inside of each. With low-rank adapters the gradients of frozen
    weights are not asked for: their products count twice, those of adapters and of the core three times.
    """
    one, tokens = configuration, float(configuration.global_batch * configuration.sequence)
    seen = float(tokens_seen(configuration_table([one]))[0])
    forward = forward_flops(model, round(seen))
    if one.adapter_rank == 0:
        return 3.0 * forward.total_flops * tokens
    core = forward.layers.core_flops
    added = sum(
        len(kind.layers) * _adapter_flops(kind.model, kind.is_moe, one.adapters)
        for kind in layer_kinds(model)
    )
    return (2.0 * (forward.total_flops - core) + 3.0 * (core + one.adapter_rank * added)) * tokens


def _adapter_flops(model: TransformerModel, layer_is_moe: bool, adapters: str) -> float:
    """Return the forward FLOPs per token of a layer's adapters, per rank."""
    found = adapter_parameters(model, layer_is_moe, adapters)
    experts = model.experts if layer_is_moe else None
    met = 0.0 if experts is None else experts.per_token / experts.count
    return 2.0 * (found.whole + found.split + met * (found.expert_whole + found.expert_split))


def mfu(flops: float, time_s: float, accelerators: int, peak_flops: float) -> float:
    """Return the share of the peak rate: ``flops/(time_s·accelerators·peak_flops)``.

    ``peak_flops`` is that of the precision of the matrix products: of FP8 where they are in FP8.

    Raises
    ------
    InvalidInput
        If one of the divisors is not positive.

    Examples
    --------
    >>> mfu(1e15, 2.0, 4, 250e12)
    0.5
    """
    for name, value in (("time_s", time_s), ("accelerators", accelerators), ("peak_flops", peak_flops)):
        if not value > 0:
            raise InvalidInput(f"mfu: {name}: must be positive, got {value}")
    return flops / (time_s * accelerators * peak_flops)
