"""The words of reinforcement learning: a step, its answers, its pools, how weights are brought over."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Switch, Word, panel
from topoopt.schema.words.cost import PricingWords, RunningWords
from topoopt.schema.words.transformer import DegreeWords, ShardingWords, SystemWords


@panel("Method")
class TuningWords(TypedDict, total=False):
    """What is trained, and on how much."""

    lora_rank: Annotated[int, Word("N", 16)]
    """Rank of the LoRA adapters, which are the only trained weights."""
    full: Switch
    """Train all weights."""
    qlora: Switch
    """Train adapters on weights in 4 bits."""
    adapters: Annotated[str, Word("every-matrix|all-linear|attention|qkv", "every-matrix")]
    """Linear layers that have an adapter: every matrix (Hugging Face PEFT), or queries, keys and values together
    and gate and up together (Megatron's all-linear)."""
    tokens: Annotated[float, Word("N", 100e6)]
    """Size of the data set in tokens."""
    epochs: Annotated[float, Word("N", 1.0)]
    """Passes over the data set."""
    alone: Switch
    """Report this method only, without the others beside it."""


@panel("Parallelism (degrees that are not given are searched)")
class TuningSplitWords(DegreeWords, ShardingWords, total=False):
    """What is not searched."""

    global_batch: int
    """Sequences per step (default: 128, or the number of accelerators if that is larger)."""
    seq: int
    """Sequence length in tokens (default 4096, or the model's maximum)."""
    framework: Annotated[str, Word("megatron|deepspeed|half-gradients|fsdp", "megatron")]
    """Training framework: it determines bytes per parameter, memory beside tensors, and unfused kernels."""


@panel("Networks")
class TuningFabricWords(TypedDict, total=False):
    """Networks that it is put on."""

    degree: int
    """Interfaces per server, which share its bandwidth (default: one per accelerator, at most 8)."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to compare, with commas: {networks of plan}. Default: {compared by plan}."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of wirings."""


class FineTuneWords(
    TuningWords, TuningSplitWords, SystemWords, TuningFabricWords, RunningWords, PricingWords, total=False
):
    """All words that ``topoopt.finetune`` takes beside the model."""


@panel("Step")
class RlJobWords(TypedDict, total=False):
    """What a step is."""

    algorithm: Annotated[str, Word("grpo|ppo", "grpo")]
    """GRPO compares several responses per prompt; PPO trains a critic as well."""
    policy: Annotated[str, Word("colocated|one-step-off|asynchronous", "colocated")]
    """colocated: all accelerators generate, then all train; one-step-off: one pool generates while another trains
    on the previous step; asynchronous: one pool generates continuously, and unfinished responses continue with new
    weights."""
    prompts: Annotated[int, Word("N", 128)]
    """Prompts per step."""
    samples: Annotated[int, Word("N")]
    """Responses per prompt (default 16; 1 with ppo)."""
    prompt_length: Annotated[int, Word("TOKENS", 256)]
    """Prompt length in tokens."""
    mean_length: Annotated[float, Word("TOKENS")]
    """Mean response length, truncated ones included (default: a quarter of ``max_length``)."""
    max_length: Annotated[int, Word("TOKENS", 8192)]
    """Length at which responses are truncated."""
    length_spread: Annotated[float, Word("SIGMA")]
    """Standard deviation of the logarithm of response lengths before truncation (default 0.9)."""
    lengths: Annotated[str | os.PathLike[str], Word("FILE")]
    """File of measured response lengths, one number of tokens per line."""
    epochs: Annotated[int, Word("N", 1)]
    """Epochs over the responses of a step."""
    updates: Annotated[int, Word("N", 1)]
    """Optimizer steps per epoch."""
    reward: Annotated[str, Word("rule|model")]
    """Reward by a rule, or by a model as large as the trained one (default rule; model with ppo)."""
    reference: Annotated[bool, Word(default=True)]
    """Whether a frozen reference model computes log-probabilities."""
    staleness: Annotated[float, Word("SHARE", 0.5)]
    """Responses started beyond those of a step, as a share of them, under the asynchronous policy."""


@panel("Pools")
class RlPoolWords(TypedDict, total=False):
    """How accelerators are split; what is not given is searched."""

    rollout_accelerators: int
    """Accelerators of the generation pool, for policies with two pools; the rest train."""
    gen_tensor: int
    """Tensor parallel degree of a generation replica."""
    gen_pipeline: int
    """Pipeline stages of a generation replica."""
    gen_expert: int
    """Expert parallel degree of a generation replica."""
    gen_attention_data: int
    """Attention data-parallel ranks of a generation replica, each with its own responses."""
    max_batch: Annotated[int, Word("N", 1024)]
    """Maximum number of responses that a replica generates at once."""
    gen_precision: Annotated[str, Word("bf16|fp8", "bf16")]
    """Precision of the generation weights; the sender casts them before the transfer."""
    train_tensor: int
    """Tensor parallel degree of training."""
    train_pipeline: int
    """Pipeline stages of training."""
    train_context: int
    """Context parallel degree of training."""
    train_expert: int
    """Expert parallel degree of training."""
    precision: Annotated[str, Word("bf16|fp8|fp16")]
    """Precision of the matrix products of training (default: bf16 where the accelerator has it)."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """Calibration of training step times, from topoopt llm calibrate (default: the accelerator's)."""
    sync: Annotated[str, Word("shards|ring|tree")]
    """Weight synchronization: shards from their holders, around a ring, or down a tree (default: whichever loads
    the busiest server least)."""
    transport: Annotated[str, Word("NAME")]
    """Software of the weight synchronization: checkpoint-engine, nccl, plain, gloo (all at once, or gloo-by-matrix
    where an accelerator lacks the memory for that), rdma (default: nccl for colocated, else checkpoint-engine)."""


@panel("Networks")
class RlFabricWords(TypedDict, total=False):
    """Networks that the step is put on."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to compare, with commas: {networks of rl}; none for none. topoopt is one wiring for all phases;
    topoopt-ocs changes circuits between phases where that pays. Default up to 128 servers: {compared by rl}; none
    beyond."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of wirings."""


class RlWords(RlJobWords, RlPoolWords, SystemWords, RlFabricWords, RunningWords, PricingWords, total=False):
    """All words that ``topoopt.rl`` takes beside the model."""
