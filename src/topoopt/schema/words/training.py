"""The words of a training of a transformer, and of what is fixed where configurations are searched."""

from typing import Annotated, TypedDict

from topoopt.schema.words.transformer import DetailWords
from topoopt.schema.words.word import Switch, Word, panel


class ScaleWords(TypedDict, total=False):
    """How much is trained on how many."""

    accelerators: int
    """Accelerators, instead of ``servers``."""
    global_batch: int
    """Sequences of an iteration; about 4 million tokens if not given."""
    seq: int
    """Tokens of a sequence; the model's own."""


class DegreeWords(TypedDict, total=False):
    """How many ways a transformer and its batch are split."""

    tp: int
    """Tensor parallel degree."""
    pp: int
    """Pipeline stages."""
    dp: int
    """Data parallel replicas."""
    cp: int
    """Context parallel degree."""
    ep: int
    """Expert parallel degree."""
    etp: int
    """Tensor parallel degree inside an expert."""
    vpp: int
    """Model chunks of a pipeline rank."""
    micro_batch: int
    """Sequences of a micro-batch."""


@panel("Transformers in pipeline stages (what is not given is searched)")
class TrainingWords(ScaleWords, DegreeWords, DetailWords, total=False):
    """How a transformer is trained; what is not given is searched."""

    zero: Annotated[int, Word("0|1|2|3")]
    """What replicas share out; see topoopt llm."""
    recompute: Annotated[str, Word("none|selective|full")]
    """Activations that the backward pass computes again."""
    sequence_parallel: bool
    """Split norms and dropouts over the tp ranks, or not."""
    uneven_stages: Switch
    """Stages need not have equally many layers."""
    any_schedule: Switch
    """Try every schedule of stages, and all-to-alls of experts that overlap."""
    attention: Annotated[str, Word("fused|eager")]
    """FlashAttention, or scores in memory; fused unless the calibration is eager."""
    framework: Annotated[str, Word("megatron|deepspeed|half-gradients|fsdp")]
    """Bytes per parameter, what is taken beside tensors, and what kernels are not fused; megatron."""
    calibration: Annotated[str, Word("NAME|FILE")]
    """Of step times; the accelerator's if not given."""
    loads: Annotated[str, Word("uniform|zipf[:A]|FILE.csv")]
    """Of experts, as topoopt llm traffic has them; even if not given."""
    candidates: Annotated[int, Word("K")]
    """Configurations that get a network of their own and are simulated on it; 8, fewer of very large ones."""
