"""FLOPs of an iteration as publications count them, and the utilization that follows (MFU).

Publications differ, so a rate comes with the name of its definition, see :data:`FLOPS_DEFINITIONS`.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21, section 5.1.
.. [2] Z. Jiang et al., "MegaScale", NSDI 2024.
"""

from collections.abc import Callable, Mapping

from topoopt.errors import InvalidInput, unknown_name
from topoopt.transformer import TransformerModel, count_parameters


def megatron_model_flops(model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return ``72·B·l·s·h²·(1 + s/6h + V/12lh)``: matrix products forward and backward, attention not halved.

    For models with two feed-forward matrices of 4h and as many heads of keys as of queries.
    """
    return _megatron_flops(72, 12, model, sequences, sequence)


def megatron_hardware_flops(model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return ``96·B·l·s·h²·(1 + s/6h + V/16lh)``: with the forward pass done again (full recomputation)."""
    return _megatron_flops(96, 16, model, sequences, sequence)


def parameter_flops(model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return ``6·N·tokens`` with the parameters that a token meets; attention's products of tokens left out."""
    return 6.0 * count_parameters(model).active * sequences * sequence


FLOPS_DEFINITIONS: Mapping[str, Callable[[TransformerModel, int, int], float]] = {
    "megatron-model": megatron_model_flops,
    "megatron-hardware": megatron_hardware_flops,
    "6n": parameter_flops,
}
"""FLOPs of an iteration from (model, sequences of the global batch, tokens of a sequence)."""


def flops_per_iteration(definition: str, model: TransformerModel, sequences: int, sequence: int) -> float:
    """Return the FLOPs of an iteration over all accelerators.

    Raises
    ------
    InvalidInput
        If there is no such definition.
    """
    if definition not in FLOPS_DEFINITIONS:
        raise unknown_name("tflops_def", definition, FLOPS_DEFINITIONS)
    return FLOPS_DEFINITIONS[definition](model, sequences, sequence)


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


def _megatron_flops(
    factor: int, logits: int, model: TransformerModel, sequences: int, sequence: int
) -> float:
    layers, hidden = model.layers, model.hidden
    inside = 1 + sequence / (6 * hidden) + model.vocabulary / (logits * layers * hidden)
    return float(factor * sequences * layers * sequence * hidden**2 * inside)
