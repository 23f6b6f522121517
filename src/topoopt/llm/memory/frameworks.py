"""What a framework takes: bytes per parameter, and memory that no tensor of the model accounts for.

Mixed precision keeps 16-bit weights, an fp32 copy of them and two fp32 moments of Adam. Frameworks differ in the
gradients, and in what contexts, communicators, buckets and the allocator take.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.errors import unknown_name
from topoopt.hardware import Accelerator

GIBIBYTE = 2.0**30

USABLE = 0.989
"""Of the memory that a part is sold with: PyTorch's messages name 79.1 GiB as the capacity of an A100 or H100 of 80
(from memory, unconfirmed)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes per parameter.

    Attributes
    ----------
    weights, gradients : float
    optimizer : float
        fp32 weights where they are a copy, and the moments.
    step : float
        Only while the optimizer steps, when no activations are there: gradients turned to fp32.
    """

    weights: float
    gradients: float
    optimizer: float
    step: float = 0.0


FULL = Recipe(4, 4, 8)
HALF_GRADIENTS = Recipe(2, 2, 12, step=4)
SUMMED_GRADIENTS = Recipe(2, 4, 12)
BOTH_GRADIENTS = Recipe(2, 6, 12)


@dataclass(frozen=True, slots=True)
class Framework:
    """One way of training.

    Attributes
    ----------
    fp16, bf16 : Recipe
        ``bf16`` also holds for 8 and 4 bits, which are for the arithmetic only.
    logit_bytes : float
        Per logit beside the logit itself: its softmax and gradient.
    reserved_bytes : float
        CUDA context, communicators, workspaces, buckets.
    lost : float
        Share of activations and buffers that is lost for good in holes between the allocator's blocks.
    held : float
        Share of them that the allocator holds beyond need, and gives back when memory is short.
    """

    fp16: Recipe
    bf16: Recipe
    logit_bytes: float
    reserved_bytes: float
    lost: float
    held: float
    source: str

    def recipe(self, precision: str) -> Recipe:
        """Return the bytes per parameter at a precision."""
        if precision in ("fp32", "tf32"):
            return FULL
        return self.fp16 if precision == "fp16" else self.bf16


FRAMEWORKS: Mapping[str, Framework] = {
    "megatron": Framework(
        HALF_GRADIENTS,
        SUMMED_GRADIENTS,
        logit_bytes=6.0,
        reserved_bytes=3.0 * GIBIBYTE,
        lost=0.1,
        held=0.0,
        source="Bytes per parameter: Megatron Core's page on its distributed optimizer (bf16 18, or 6 + 12/d; fp16 20, "
        "or 4 + 16/d, the last 4 for a moment). Reserved and lost: from memory, unconfirmed",
    ),
    "deepspeed": Framework(
        HALF_GRADIENTS,
        BOTH_GRADIENTS,
        logit_bytes=6.0,
        reserved_bytes=8.5 * GIBIBYTE,
        lost=0.0,
        held=0.14,
        source="bf16: 4 bytes a parameter more than fp16 and not shared out, BigScience's notes on its 176B model. "
        "Reserved and held: fitted to the memory of 50 runs in the same notes; some ran with all but 1 GB in use",
    ),
    "half-gradients": Framework(
        HALF_GRADIENTS,
        HALF_GRADIENTS,
        logit_bytes=6.0,
        reserved_bytes=3.0 * GIBIBYTE,
        lost=0.1,
        held=0.0,
        source="Gradients stay in 16 bits: Rajbhandari 2020, section 3.1 (16 bytes); the optimizer of Aleph Alpha's "
        "Scaling. Reserved and lost as for megatron",
    ),
    "fsdp": Framework(
        FULL,
        FULL,
        logit_bytes=2.0,
        reserved_bytes=3.0 * GIBIBYTE,
        lost=0.0,
        held=0.05,
        source="PyTorch FSDP keeps its shards in fp32 and gathers 16 bits; a fused cross entropy turns logits to "
        "gradients in place. MosaicML's published runs fill 40 GB so far that nothing can be lost. Reserved: from "
        "memory, unconfirmed",
    ),
}
"""By name. ``megatron`` is the default."""


def find_framework(name: str) -> Framework:
    """Return a framework by its name.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names.
    """
    if name not in FRAMEWORKS:
        raise unknown_name("framework", name, FRAMEWORKS)
    return FRAMEWORKS[name]


def capacity_bytes(accelerator: Accelerator) -> float:
    """Return the bytes of an accelerator that a program can have.

    Makers write GB for binary gigabytes: an "80 GB" A100 has 81,920 MiB by nvidia-smi.
    """
    return USABLE * accelerator.memory_bytes / 1e9 * GIBIBYTE
