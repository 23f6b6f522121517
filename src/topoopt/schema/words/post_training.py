"""The words of reinforcement learning: a step, its answers, its pools, how weights are brought over."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Switch, Word, panel
from topoopt.schema.words.cost import PricingWords, RunningWords
from topoopt.schema.words.transformer import DegreeWords, SystemWords


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
    """Networks, with commas: {networks of plan}. Default: {compared by plan}."""
    seed: Annotated[int, Word("N", 0)]
    """Of wirings."""


class FineTuneWords(
    TuningWords, TuningSplitWords, SystemWords, TuningFabricWords, RunningWords, PricingWords, total=False
):
    """All words that ``topoopt.finetune`` takes beside the model."""


@panel("The step")
class RlJobWords(TypedDict, total=False):
    """What a step is."""

    algorithm: Annotated[str, Word("grpo|ppo", "grpo")]
    """Several answers to a prompt against each other, or a critic that is trained, too."""
    policy: Annotated[str, Word("colocated|one-step-off|asynchronous", "colocated")]
    """All accelerators answer, then all train; one pool answers while another trains on the step before; one pool
    answers all the time, and what is not done goes on with new weights."""
    prompts: Annotated[int, Word("N", 128)]
    """Prompts of a step."""
    samples: Annotated[int, Word("N")]
    """Answers to each prompt; 16, with ppo 1."""
    prompt_length: Annotated[int, Word("TOKENS", 256)]
    """Of a prompt."""
    mean_length: Annotated[float, Word("TOKENS")]
    """Of an average answer, those cut off included; a quarter of ``max_length``."""
    max_length: Annotated[int, Word("TOKENS", 8192)]
    """At which answers are cut off."""
    length_spread: Annotated[float, Word("SIGMA")]
    """Standard deviation of the logarithm of lengths before they are cut off; 0.9."""
    lengths: Annotated[str | os.PathLike[str], Word("FILE")]
    """Measured lengths instead, tokens of an answer on each line."""
    epochs: Annotated[int, Word("N", 1)]
    """How often a step's answers are trained on."""
    updates: Annotated[int, Word("N", 1)]
    """Optimizer steps of an epoch."""
    reward: Annotated[str, Word("rule|model")]
    """What judges answers: a program, or a model as large as the trained one; rule, with ppo model."""
    reference: Annotated[bool, Word(default=True)]
    """Whether a frozen copy of the model reads the answers, too."""
    staleness: Annotated[float, Word("SHARE", 0.5)]
    """Of the asynchronous policy: answers begun beyond those of a step, over those of a step."""


@panel("Pools")
class RlPoolWords(TypedDict, total=False):
    """How accelerators are split; what is not given is searched."""

    rollout_accelerators: int
    """That answer, of policies with two pools; the rest trains."""
    gen_tensor: int
    """Tensor parallel degree of a replica that answers."""
    gen_pipeline: int
    """Its pipeline stages."""
    gen_expert: int
    """Its expert parallel degree."""
    gen_attention_data: int
    """Its copies of attention, each with answers of its own."""
    max_batch: Annotated[int, Word("N", 1024)]
    """Answers that a replica works on at once, at most."""
    gen_precision: Annotated[str, Word("bf16|fp8", "bf16")]
    """Of the weights that answer; who sends them casts before."""
    train_tensor: int
    """Tensor parallel degree of training."""
    train_pipeline: int
    """Its pipeline stages."""
    train_context: int
    """Its context parallel degree."""
    train_expert: int
    """Its expert parallel degree."""
    precision: Annotated[str, Word("bf16|fp8|fp16")]
    """Of the matrix products of training; bf16 where the accelerator has it."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """Of step times of training, from topoopt llm calibrate; the accelerator's own."""
    sync: Annotated[str, Word("shards|ring|tree")]
    """How weights go to those that answer: each shard from who holds it, round a ring, or down a tree; whichever keeps
    the busiest server shortest."""
    transport: Annotated[str, Word("NAME")]
    """The software that brings them: checkpoint-engine, nccl, plain, gloo (all at once, or gloo-by-matrix where an
    accelerator has no room for that), rdma; nccl where pools take turns, else checkpoint-engine."""


@panel("Networks")
class RlFabricWords(TypedDict, total=False):
    """Networks that the step is put on."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks, with commas: {networks of rl}; none for none. topoopt is one wiring for all phases, topoopt-ocs changes
    circuits between phases where that pays. Default for up to 128 servers: {compared by rl}; none beyond."""
    seed: Annotated[int, Word("N", 0)]
    """Of wirings."""


class RlWords(RlJobWords, RlPoolWords, SystemWords, RlFabricWords, RunningWords, PricingWords, total=False):
    """All words that ``topoopt.rl`` takes beside the model."""
