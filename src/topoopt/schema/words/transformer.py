"""The words of a search over the configurations of a transformer: what is fixed, and how far it goes."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Word, panel
from topoopt.schema.words.cost import OwnershipWords

_FRAMEWORKS = (
    "megatron|nemo|deepspeed|half-gradients|scaling|scaling-norm-kernel|fsdp|torchtitan|torchtitan-eager-loss"
)
Framework = Annotated[str, Word(f"{_FRAMEWORKS}|maxtext")]


@panel("Model shape, or changes to it")
class ShapeWords(TypedDict, total=False):
    """Model shape, or changes to it; see :class:`topoopt.workloads.transformer.Shapes`."""

    layers: int
    """Number of layers."""
    hidden: int
    """Hidden size."""
    heads: int
    """Number of attention heads."""
    kv_heads: int
    """Number of key-value heads (default: ``heads``)."""
    head_dim: int
    """Size of an attention head (default: hidden/heads)."""
    ffn: int
    """Inner size of the feed-forward layer (default: 4 x hidden)."""
    gated: Annotated[bool, Word(names=("gated/not-gated",))]
    """Feed-forward layer with three matrices (SwiGLU) or two (default two)."""
    vocabulary: int
    """Vocabulary size (default 51200)."""
    tied: Annotated[bool, Word(names=("tied/untied",))]
    """Whether the output layer shares the embedding (default tied)."""
    experts: int
    """Routed experts per layer (default: none)."""
    experts_per_token: Annotated[int, Word("K")]
    """Experts per token (default 2)."""
    expert_ffn: int
    """Inner size of one expert (default: ``ffn``)."""
    shared_ffn: int
    """Inner size of all shared experts together (default 0)."""
    capacity_factor: Annotated[float, Word("X")]
    """Maximum tokens per expert, as a multiple of the even share (default: no limit)."""
    route_groups: int
    """Groups of experts to which routing is limited; 0 for no limit (default: the model's)."""
    groups_per_token: int
    """Maximum number of groups that hold the experts of a token."""
    mtp_layers: int
    """Multi-token prediction modules; 0 for none (default: the model's)."""
    window: Annotated[int, Word("TOKENS")]
    """Window of sliding-window attention in tokens; 0 for full attention (default: the model's)."""
    window_layers: int
    """Layers with sliding-window attention (default: the model's, or all)."""
    seq: int
    """Sequence length in tokens (default: the model's)."""


class DegreeWords(TypedDict, total=False):
    """Degrees of parallelism; a search varies those that are not given."""

    tp: int
    """Tensor parallel degree."""
    pp: int
    """Pipeline stages."""
    dp: int
    """Data parallel replicas (default: what the other degrees leave)."""
    cp: int
    """Context parallel degree."""
    ep: int
    """Expert parallel degree."""
    etp: int
    """Tensor parallel degree within an expert."""
    vpp: int
    """Model chunks per pipeline rank (interleaved schedule)."""
    micro_batch: int
    """Sequences per micro-batch."""


class ShardingWords(TypedDict, total=False):
    """Sharding and recomputation; a search varies those that are not given."""

    recompute: Annotated[str, Word("none|selective|full|PARTS")]
    """Activations that the backward pass recomputes: none, the attention core (selective), whole layers (full), or
    parts joined by + (core, norms, activation, experts, latent) (default: the least that fits into memory)."""
    zero: Annotated[int, Word("0|1|2|3")]
    """ZeRO stage: replicas shard nothing, the optimizer state, gradients too, or parameters too (default 1; a search
    tries 2 and 3 without pipeline stages unless ``pp`` is given)."""
    sequence_parallel: bool
    """Split norms and dropouts over the tp ranks along the sequence (default: where there are several)."""


class BatchWords(TypedDict, total=False):
    """The batch of an iteration."""

    global_batch: int
    """Sequences per iteration (default: about 4 million tokens)."""


class DetailWords(TypedDict, total=False):
    """What few configurations have: estimate, traffic, search, plan and job files all take these words.

    Where configurations are searched a word fixes its column, if it is given.
    """

    context: Annotated[str, Word("ring|ulysses|all-gather", "ring")]
    """Context parallelism: pass keys and values around a ring, exchange tokens for heads (Ulysses), or gather keys
    and values."""
    shard: Annotated[int, Word("N", 0)]
    """ZeRO shard group: the dp·cp ranks over which state is sharded, with a copy per group (HSDP); 0 for all
    ranks."""
    schedule: Annotated[str, Word("1f1b|zero-bubble|dualpipe", "1f1b")]
    """Pipeline schedule: 1F1B (interleaved with ``vpp``), zero-bubble (ZB-H1) or DualPipe."""
    exchange: Annotated[str, Word("flat|hierarchical", "hierarchical")]
    """Expert exchange: one copy per expert (flat), or one copy per destination server, which forwards it (DeepEP,
    HybridEP)."""
    dispatch: Annotated[str, Word("bf16|fp8|fp32")]
    """Precision of tokens that are dispatched to experts (default bf16)."""
    graphs: Switch
    """Launch the kernels of an iteration as CUDA graphs, which removes the host's launch time."""
    overlap_experts: Switch
    """Overlap expert all-to-alls with the computation of another micro-batch; dualpipe always does."""
    adapter_rank: Annotated[int, Word("N", 0)]
    """Rank of LoRA adapters, which are then the only trained weights; 0 trains all weights."""
    adapters: Annotated[str, Word("every-matrix|all-linear|attention|qkv", "every-matrix")]
    """Linear layers that have an adapter."""
    recompute_layers: Annotated[int, Word("N", 0)]
    """Layers per chunk to which ``recompute`` applies; 0 for all."""
    weights: Annotated[str, Word("fp32|bf16|fp8|nf4")]
    """Precision of the stored weights, beside the optimizer's copy; nf4: frozen 4-bit weights (QLoRA) (default:
    the framework's)."""
    gradients: Annotated[str, Word("fp32|bf16")]
    """Precision in which gradients are accumulated (default: the framework's)."""
    moments: Annotated[str, Word("fp32|bf16|fp8")]
    """Precision of Adam's moments (default fp32)."""
    activation_inputs: Annotated[str, Word("bf16|fp8")]
    """Precision of the stored inputs of the feed-forward activation function (default: as other activations)."""
    offload_optimizer: Annotated[float, Word("SHARE", 0.0)]
    """Share of the optimizer state that is offloaded to host memory."""
    offload_activations: Annotated[float, Word("SHARE", 0.0)]
    """Share of the activations that are offloaded to host memory."""
    document: Annotated[int, Word("N", 0)]
    """Mean document length in tokens, where several documents are packed into a sequence and do not attend to each
    other; 0 for one document per sequence."""
    document_spread: Annotated[float, Word("X", 0.0)]
    """Standard deviation of document lengths over their mean; ranks wait for the most expensive sequence."""


@panel("Parallelism")
class SplitWords(DegreeWords, BatchWords, ShardingWords, DetailWords, total=False):
    """How the model and its batch are split; see :class:`topoopt.transformers.Configuration`."""

    uneven_stages: Switch
    """Allow pipeline stages with different numbers of layers."""
    precision: Annotated[str, Word("bf16|fp16|fp8|fp4|fp32")]
    """Precision of matrix products (default: bf16 where the accelerator has it)."""


@panel("Machines")
class SystemWords(TypedDict, total=False):
    """The machines; what is not given is that of the accelerator's row of the catalogue."""

    accelerators: int
    """Number of accelerators (default: the product of the degrees and ``dp``)."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """Accelerator, as topoopt hardware lists it."""
    accelerators_per_server: int
    """Accelerators per server, or per scale-up domain (default: the catalogue's)."""
    bandwidth: Annotated[Amount, Word("RATE", setting="network_bandwidth")]
    """Network bandwidth per accelerator, each way (default: that of the accelerator's reference system)."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth per accelerator, each way (default: the catalogue's)."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Latency per hop."""


class LawWords(TypedDict, total=False):
    """How attention runs, what a framework takes, and what hides."""

    attention: Annotated[str, Word("fused|eager")]
    """FlashAttention (fused), or attention scores in memory (eager) (default: fused, unless the calibration is
    eager)."""
    framework: Framework
    """Training framework: it determines bytes per parameter, memory beside tensors, and unfused kernels (default:
    maxtext on TPUs, else megatron)."""
    no_overlap: Annotated[str | Sequence[str], Word("LIST", repeated=True)]
    """Communication that is not overlapped with computation, with commas or repeated: tensor (async TP), gathers
    (ZeRO 2 and 3), gradients (ZeRO 0 and 1), replicas (between shard groups) (default: each overlaps as far as the
    calibration says)."""


@panel("Estimator and memory")
class EstimatorWords(LawWords, total=False):
    """Which formula, and how attention and memory are counted."""

    estimator: Annotated[str, Word("calibrated|apnet24", "calibrated")]
    """Calibrated on measured runs, or the formula published at APNet 2024."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """Calibration file from topoopt llm calibrate, or a transformer profile from topoopt profile (default: the
    accelerator's calibration)."""


@panel("Estimator")
class SoftwareWords(TypedDict, total=False):
    """By which software or formula communication is counted."""

    estimator: Annotated[str, Word("calibrated|apnet24", "calibrated")]
    """Count communication as calibrated estimates do, or by the formula published at APNet 2024, in which stages
    send whole activations rather than slices."""
    framework: Framework
    """Training framework: it determines how ZeRO communicates and which tensors are sent whole or repeatedly
    (default megatron)."""


@panel("Ranks and servers")
class RankWords(TypedDict, total=False):
    """How ranks are numbered, and where they run."""

    accelerators: int
    """Number of accelerators (default: the product of the degrees and ``dp``)."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """Accelerator, which determines how many share a server."""
    accelerators_per_server: int
    """Accelerators per server (default: the catalogue's)."""
    order: Annotated[str, Word("WORDS", "tp-cp-ep-dp-pp")]
    """Order of the parallel degrees in rank numbers, the fastest changing first."""
    slots: Annotated[str | os.PathLike[str] | Sequence[int], Word("FILE")]
    """File with the accelerator of each rank, one number per line (default: in order)."""


@panel("Expert loads")
class LoadWords(TypedDict, total=False):
    """How tokens are spread over the experts."""

    loads: Annotated[str, Word("uniform|zipf[:A]|FILE.csv")]
    """Distribution of tokens over experts: uniform, zipf (the r-th busiest gets r^-A), or a file with columns
    layer, expert, share[, iteration] (default uniform)."""
    iteration: Annotated[int, Word("I", 0)]
    """Iteration for which expert loads are taken; they change, and even out, over iterations."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of the expert loads."""


class EstimateWords(
    ShapeWords, SplitWords, SystemWords, EstimatorWords, LoadWords, OwnershipWords, total=False
):
    """All words that ``topoopt.llm.estimate`` takes."""


class RankTrafficWords(ShapeWords, SplitWords, RankWords, SoftwareWords, LoadWords, total=False):
    """All words that ``topoopt.llm.traffic`` takes."""


class StageWords(TypedDict, total=False):
    """How freely stages are cut and ordered."""

    uneven_stages: Switch
    """Allow pipeline stages with different numbers of layers."""
    any_schedule: Switch
    """Search pipeline schedules and overlapped expert all-to-alls, too."""


class ScaleWords(BatchWords, total=False):
    """How much is trained on how many."""

    accelerators: int
    """Number of accelerators, instead of ``servers``."""
    seq: int
    """Sequence length in tokens (default: the model's)."""


@panel("Training of transformers (parameters that are not given are searched)")
class TrainingWords(ScaleWords, DegreeWords, ShardingWords, DetailWords, LawWords, StageWords, total=False):
    """How a transformer is trained; what is not given is searched."""

    calibration: Annotated[str, Word("NAME|FILE")]
    """Calibration of step times (default: the accelerator's)."""
    loads: Annotated[str, Word("uniform|zipf[:A]|FILE.csv")]
    """Distribution of tokens over experts, as in topoopt llm traffic (default uniform)."""
    candidates: Annotated[int, Word("K")]
    """Configurations that get a network of their own and are simulated on it (default 8, fewer for very large
    ones)."""


@panel("Fixed parameters (all others are searched)")
class FixedWords(DegreeWords, ShardingWords, DetailWords, total=False):
    """Fields of a configuration that are not searched where they are given."""


@panel("Search limits")
class LimitWords(StageWords, total=False):
    """The most that the search tries."""

    max_tp: int
    """Maximum tensor parallel degree (default: the accelerators of a server)."""
    max_pp: int
    """Maximum number of pipeline stages (default: the number of layers)."""
    max_cp: int
    """Maximum context parallel degree (default: one per 4,096 tokens of the sequence)."""
    max_ep: int
    """Maximum expert parallel degree (default: the number of experts)."""
    max_vpp: Annotated[int, Word("N", 12)]
    """Maximum model chunks per pipeline rank."""
    max_micro_batch: Annotated[int, Word("N", 16)]
    """Maximum micro-batch size; powers of two up to it are tried."""


@panel("Memory and time")
class MeasureWords(LawWords, total=False):
    """By what times and memory are counted."""

    precision: Annotated[str, Word("bf16|fp16|fp8|fp4|fp32")]
    """Precision of matrix products (default: bf16 where the accelerator has it)."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """Calibration of step times from topoopt llm calibrate or topoopt profile (default: the accelerator's)."""


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
