"""How numbers are stored and multiplied in serving: formats of weights, by part of a model, and of caches."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.base.errors import check_known
from topoopt.catalog import Accelerator


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """A format of weights.

    Attributes
    ----------
    expert_bytes, attention_bytes, other_bytes : float
        Of one weight: in routed experts; in attention of a model with experts; in everything else that is quantized,
        attention of dense models included. Scales of blocks are counted.
    compute : str
        The precision whose rate its products have, where the accelerator has it; else that of bf16.
    """

    expert_bytes: float
    attention_bytes: float
    other_bytes: float
    compute: str


WEIGHT_FORMATS: Mapping[str, WeightFormat] = {
    "bf16": WeightFormat(2.0, 2.0, 2.0, "bf16"),
    "fp16": WeightFormat(2.0, 2.0, 2.0, "fp16"),
    "fp8": WeightFormat(1.0, 1.0, 1.0, "fp8"),
    "int8": WeightFormat(1.0, 1.0, 1.0, "bf16"),
    "fp4": WeightFormat(0.5 + 1 / 16, 2.0, 0.5 + 1 / 16, "fp4"),
    "int4": WeightFormat(0.5 + 2 / 32, 2.0, 2.0, "bf16"),
}
"""``fp4`` is NVFP4, a scale of one byte for 16 weights, and checkpoints of models with experts leave attention in bf16
(those of NVIDIA on Hugging Face; MXFP4 of gpt-oss does, too, with a scale for 32). ``int4`` is that of Kimi K2: routed
experts only, a scale of two bytes for 32."""

CACHE_FORMATS: Mapping[str, float] = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5 + 1 / 16}
"""Bytes of a number in caches of keys and values."""


def weight_format(precision: str) -> WeightFormat:
    """Return a format of weights by its name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    check_known("weight_precision", precision, tuple(WEIGHT_FORMATS))
    return WEIGHT_FORMATS[precision]


def cache_element_bytes(precision: str) -> float:
    """Return the bytes of a number in a cache.

    Raises
    ------
    InvalidInput
        If there is no such format.
    """
    check_known("kv_precision", precision, tuple(CACHE_FORMATS))
    return CACHE_FORMATS[precision]


def compute_rate(accelerator: Accelerator, precision: str) -> float:
    """Return the peak rate in FLOP/s of products with weights of a format.

    An accelerator without such arithmetic unpacks them and multiplies in bf16, or in fp16 if it has only that.
    """
    peaks = accelerator.peaks
    for one in (weight_format(precision).compute, "bf16", "fp16", "fp32"):
        if one in peaks:
            return peaks[one]
    raise AssertionError(f"{accelerator.name} has no rate at all")
