"""The words of a search over the configurations of a transformer: what is fixed, and how far it goes."""

import os
from typing import Annotated, TypedDict

from topoopt.schema.words.ownership import OwnershipWords
from topoopt.schema.words.training import DegreeWords
from topoopt.schema.words.transformer import DetailWords, LoadWords, ShapeWords, SystemWords
from topoopt.schema.words.word import Switch, Word, panel


@panel("What is fixed (all the rest is searched)")
class FixedWords(DegreeWords, DetailWords, total=False):
    """Fields of a configuration that are not searched where they are given."""

    recompute: Annotated[str, Word("none|selective|full|PARTS")]
    """Activations computed again; parts are joined by +, and only searched where they are given."""
    zero: Annotated[int, Word("0|1|2|3")]
    """What replicas share out; 2 and 3 without stages unless ``pp`` is given, too."""
    sequence_parallel: bool
    """Split norms and dropouts over the tp ranks, or not."""


@panel("How far the search goes")
class LimitWords(TypedDict, total=False):
    """The most that the search tries."""

    max_tp: int
    """Accelerators of a server if not given."""
    max_pp: int
    """As many as layers."""
    max_cp: int
    """One for every 4,096 tokens of a sequence."""
    max_ep: int
    """As many as experts."""
    max_vpp: Annotated[int, Word("N", 12)]
    """Chunks of a rank."""
    max_micro_batch: Annotated[int, Word("N", 16)]
    """Powers of two up to it are tried."""
    uneven_stages: Switch
    """Stages need not have equally many layers."""
    any_schedule: Switch
    """Try every schedule of stages, and all-to-alls of experts that overlap."""


class BatchWords(TypedDict, total=False):
    """What an iteration trains."""

    global_batch: int
    """Sequences of an iteration; about 4 million tokens if not given."""


@panel("Memory and times")
class MeasureWords(TypedDict, total=False):
    """By what times and memory are counted."""

    precision: Annotated[str, Word("bf16|fp16|fp8|fp4|fp32")]
    """Of the matrix products; bf16 where the accelerator has it."""
    attention: Annotated[str, Word("fused|eager")]
    """FlashAttention, or scores in memory; fused unless the calibration is eager."""
    framework: Annotated[
        str,
        Word(
            "megatron|nemo|deepspeed|half-gradients|scaling|scaling-norm-kernel|fsdp|torchtitan|torchtitan-eager-loss",
            "megatron",
        ),
    ]
    """Bytes per parameter, what is taken beside tensors, and what kernels are not fused."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """Of step times (topoopt llm calibrate, topoopt profile); the accelerator's if not given."""


class ConfigurationSearchWords(
    ShapeWords,
    SystemWords,
    FixedWords,
    LimitWords,
    BatchWords,
    MeasureWords,
    LoadWords,
    OwnershipWords,
    total=False,
):
    """All words that ``topoopt.llm.search`` takes; degrees that are given are not searched."""
