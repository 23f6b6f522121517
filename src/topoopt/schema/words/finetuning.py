"""The words of fine-tuning: which way, which adapters, how much data, on what."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.ownership import RunningWords
from topoopt.schema.words.pricing import PricingWords
from topoopt.schema.words.training import DegreeWords
from topoopt.schema.words.transformer import SystemWords
from topoopt.schema.words.word import Switch, Word, panel


@panel("The way")
class TuningWords(TypedDict, total=False):
    """What is trained, and on how much."""

    lora_rank: Annotated[int, Word("N", 16)]
    """Of low-rank adapters, which alone are trained."""
    full: Switch
    """Train all weights."""
    qlora: Switch
    """Adapters beside weights in 4 bits."""
    adapters: Annotated[str, Word("every-matrix|all-linear|attention|qkv", "every-matrix")]
    """Linear layers that have an adapter: each one (Hugging Face's PEFT), or queries, keys and values together and gate
    and up together (Megatron's all-linear)."""
    tokens: Annotated[float, Word("N", 100e6)]
    """Of the data set."""
    epochs: Annotated[float, Word("N", 1.0)]
    """How often it is gone through."""
    alone: Switch
    """Only this way, without the others beside it."""


@panel("How it is split (what is not given is searched)")
class TuningSplitWords(DegreeWords, total=False):
    """What is not searched."""

    global_batch: int
    """Sequences of a step; 128, or as many as accelerators."""
    seq: int
    """Tokens of a sequence; 4096, or what the model can read."""
    recompute: Annotated[str, Word("none|selective|full")]
    """Activations that the backward pass computes again."""
    zero: Annotated[int, Word("0|1|2|3")]
    """What replicas share out."""
    framework: Annotated[str, Word("megatron|deepspeed|half-gradients|fsdp", "megatron")]
    """Bytes per parameter, what is taken beside tensors, and what kernels are not fused."""


@panel("Networks")
class TuningFabricWords(TypedDict, total=False):
    """Networks that it is put on."""

    degree: int
    """Interfaces of a server, which share its bandwidth; one an accelerator, at most 8."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """With commas: ideal-switch, fat-tree, oversub-fat-tree, rail, expander, torus, full-mesh. The first six."""
    seed: Annotated[int, Word("N", 0)]
    """Of wirings."""


class FineTuneWords(
    TuningWords, TuningSplitWords, SystemWords, TuningFabricWords, RunningWords, PricingWords, total=False
):
    """All words that ``topoopt.finetune`` takes beside the model."""
