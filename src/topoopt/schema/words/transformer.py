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


@panel("Shapes by hand, or changes to the model")
class ShapeWords(TypedDict, total=False):
    """Shapes by hand, or changes to the model; see :class:`topoopt.workloads.transformer.Shapes`."""

    layers: int
    """Layers."""
    hidden: int
    """Hidden size."""
    heads: int
    """Attention heads."""
    kv_heads: int
    """Heads of keys and values; as many as ``heads``."""
    head_dim: int
    """Size of a head; hidden/heads."""
    ffn: int
    """Inner size of the feed-forward part; 4 x hidden."""
    gated: Annotated[bool, Word(names=("gated/not-gated",))]
    """Three feed-forward matrices (SwiGLU) or two; two."""
    vocabulary: int
    """Rows of the embedding; 51200."""
    tied: Annotated[bool, Word(names=("tied/untied",))]
    """Output layer shares the embedding or not; tied."""
    experts: int
    """Routed experts of a layer; none."""
    experts_per_token: Annotated[int, Word("K")]
    """Experts that a token goes to; 2."""
    expert_ffn: int
    """Inner size of one expert; ``ffn``."""
    shared_ffn: int
    """Inner size of the shared experts together; 0."""
    capacity_factor: Annotated[float, Word("X")]
    """Tokens that an expert takes at most, over the even share; no limit."""
    route_groups: int
    """Groups of experts that routing is limited to; the model's own, 0 for no limit."""
    groups_per_token: int
    """Groups that the experts of a token lie in at most."""
    mtp_layers: int
    """Modules that predict further tokens (multi-token prediction), 0 for none; the model's own."""
    window: Annotated[int, Word("TOKENS")]
    """Tokens that a layer of sliding-window attention sees, 0 for all; the model's own."""
    window_layers: int
    """Layers with such a window; the model's own, or all."""
    seq: int
    """Tokens of a sequence; the model's own."""


class UsualSplitWords(TypedDict, total=False):
    """What every configuration has."""

    tp: Annotated[int, Word("N", 1)]
    """Tensor parallel degree."""
    pp: Annotated[int, Word("N", 1)]
    """Pipeline stages."""
    dp: int
    """Data parallel replicas; what the other degrees leave."""
    cp: Annotated[int, Word("N", 1)]
    """Context parallel degree."""
    ep: Annotated[int, Word("N", 1)]
    """Expert parallel degree."""
    etp: Annotated[int, Word("N", 1)]
    """Tensor parallel degree inside an expert."""
    vpp: Annotated[int, Word("N", 1)]
    """Model chunks of a pipeline rank (interleaving)."""
    micro_batch: Annotated[int, Word("N", 1)]
    """Sequences of a micro-batch."""
    global_batch: int
    """Sequences of an iteration; about 4 million tokens if not given."""
    recompute: Annotated[str, Word("none|selective|full|PARTS")]
    """Activations that the backward pass computes again: nothing, attention's core, whole layers, or parts joined by +
    (core, norms, activation, experts, latent). By default an estimate takes the least that fits."""
    zero: Annotated[int, Word("0|1|2|3", 0)]
    """Replicas share out nothing, optimizer state, gradients too, parameters too."""
    sequence_parallel: Switch
    """Split norms and dropouts over the tp ranks, along the sequence."""
    uneven_stages: Switch
    """Let the layers be cut into any number of stages, where they do not come out even."""
    precision: Annotated[str, Word("bf16|fp16|fp8|fp4|fp32")]
    """Of the matrix products; bf16 where the accelerator has it."""


class DetailWords(TypedDict, total=False):
    """What few configurations have: estimate, traffic, search, plan and job files all take these words.

    Where configurations are searched a word fixes its column, if it is given.
    """

    context: Annotated[str, Word("ring|ulysses|all-gather", "ring")]
    """How cp ranks come by all keys and values: in a ring, by exchanging tokens for heads, or by gathering them."""
    shard: Annotated[int, Word("N", 0)]
    """Of the dp·cp ranks, those over which ZeRO shares out; every shard of N has all (HSDP). 0 for all of them."""
    schedule: Annotated[str, Word("1f1b|zero-bubble|dualpipe", "1f1b")]
    """Order of passes: 1F1B, interleaved with ``vpp``; ZB-H1, gradients of weights fill the bubble; from both ends."""
    exchange: Annotated[str, Word("flat|hierarchical", "hierarchical")]
    """How tokens get to experts: a copy for each, or one for each server that forwards it (DeepEP, HybridEP)."""
    dispatch: Annotated[str, Word("bf16|fp8|fp32")]
    """Precision of tokens on their way to experts; bf16."""
    graphs: Switch
    """Launch the kernels of whole iterations as graphs (CUDA graphs), so that the host takes no time to launch them."""
    overlap_experts: Switch
    """Hide the all-to-alls of experts behind the computation of another micro-batch; dualpipe always does."""
    adapter_rank: Annotated[int, Word("N", 0)]
    """Of low-rank adapters (LoRA), which alone are trained; 0 for training everything."""
    adapters: Annotated[str, Word("all-linear|attention|qkv|every-matrix", "all-linear")]
    """Linear layers that have an adapter."""
    recompute_layers: Annotated[int, Word("N", 0)]
    """Layers of each chunk that ``recompute`` is about; 0 for all."""
    weights: Annotated[str, Word("fp32|bf16|fp8|nf4")]
    """Of the weights that are kept beside the optimizer's; the framework's. nf4: frozen ones in 4 bits (QLoRA)."""
    gradients: Annotated[str, Word("fp32|bf16")]
    """Of the gradients that are summed up; the framework's."""
    moments: Annotated[str, Word("fp32|bf16|fp8")]
    """Of Adam's moments; fp32."""
    activation_inputs: Annotated[str, Word("bf16|fp8")]
    """Of what enters the activation between feed-forward matrices, while it is kept; as other activations."""
    offload_optimizer: Annotated[float, Word("SHARE", 0.0)]
    """Of the optimizer's state that the memory of the host keeps."""
    offload_activations: Annotated[float, Word("SHARE", 0.0)]
    """Of the activations that the memory of the host keeps."""
    document: Annotated[int, Word("N", 0)]
    """Tokens of an average document where several are packed into a sequence and do not see each other; 0 for one."""
    document_spread: Annotated[float, Word("X", 0.0)]
    """Standard deviation of the length of documents over their average; others wait for the heaviest sequences."""


@panel("How it is split")
class SplitWords(UsualSplitWords, DetailWords, total=False):
    """How the model and its batch are split; see :class:`topoopt.transformers.Configuration`."""


@panel("Machines")
class SystemWords(TypedDict, total=False):
    """The machines; what is not given is that of the accelerator's row of the catalogue."""

    accelerators: int
    """Accelerators; the product of the degrees with ``dp``."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """See topoopt hardware."""
    accelerators_per_server: int
    """Joined by scale-up links; the accelerator's own."""
    bandwidth: Rate
    """Network bandwidth of one accelerator, each way; the accelerator's reference system's."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth of one accelerator, each way; the accelerator's own."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Of one hop."""


class LawWords(TypedDict, total=False):
    """How attention runs, what a framework takes, and what hides."""

    attention: Annotated[str, Word("fused|eager")]
    """FlashAttention, or scores in memory; fused unless the calibration is eager."""
    framework: Framework
    """Bytes per parameter, what is taken beside tensors, and what kernels are not fused; maxtext on TPUs, else
    megatron."""
    no_overlap: Annotated[str | Sequence[str], Word("LIST", repeated=True)]
    """Communication that hides nothing, with commas or repeated: tensor (async TP), gathers (ZeRO 2 and 3), gradients
    (ZeRO 0 and 1), replicas (between shards); all of them hide what the calibration says."""


@panel("Estimator and memory")
class EstimatorWords(LawWords, total=False):
    """Which formula, and how attention and memory are counted."""

    estimator: Annotated[str, Word("calibrated|apnet24", "calibrated")]
    """Fitted to measured runs, or the published formula."""
    calibration: Annotated[str | os.PathLike[str], Word("FILE")]
    """From topoopt llm calibrate, or a transformer's profile (topoopt profile); the accelerator's own."""


@panel("How it is counted")
class SoftwareWords(TypedDict, total=False):
    """By which software or formula communication is counted."""

    estimator: Annotated[str, Word("calibrated|apnet24", "calibrated")]
    """As estimates count it, or as the published formula: stages send whole activations, not slices."""
    framework: Framework
    """What it sends whole, or more often, and ZeRO as it has it; megatron."""


@panel("Ranks and servers")
class RankWords(TypedDict, total=False):
    """How ranks are numbered, and where they run."""

    accelerators: int
    """Accelerators; the product of the degrees with ``dp``."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """Says how many share a server."""
    accelerators_per_server: int
    """If not as the accelerator has it."""
    order: Annotated[str, Word("WORDS", "tp-cp-ep-dp-pp")]
    """Which degree numbers ranks fastest, and so on."""
    slots: Annotated[str | os.PathLike[str] | Sequence[int], Word("FILE")]
    """The accelerator of each rank, a number a line; in order if not given."""


@panel("Loads of experts")
class LoadWords(TypedDict, total=False):
    """How tokens are spread over the experts."""

    loads: Annotated[str, Word("uniform|zipf[:A]|FILE.csv")]
    """Even (if not given); the r-th busiest as r^-A; a file of layer, expert, share[, iteration]."""
    iteration: Annotated[int, Word("I", 0)]
    """Loads change, and grow more even, over iterations."""
    seed: Annotated[int, Word("N", 0)]
    """Of the loads."""


class EstimateWords(
    ShapeWords, SplitWords, SystemWords, EstimatorWords, LoadWords, OwnershipWords, total=False
):
    """All words that ``topoopt.llm.estimate`` takes."""


class RankTrafficWords(ShapeWords, SplitWords, RankWords, SoftwareWords, LoadWords, total=False):
    """All words that ``topoopt.llm.traffic`` takes."""


class StageWords(TypedDict, total=False):
    """How freely stages are cut and ordered."""

    uneven_stages: Switch
    """Stages need not have equally many layers."""
    any_schedule: Switch
    """Try every schedule of stages, and all-to-alls of experts that overlap."""


class BatchWords(TypedDict, total=False):
    """What an iteration trains."""

    global_batch: int
    """Sequences of an iteration; about 4 million tokens if not given."""


class ScaleWords(BatchWords, total=False):
    """How much is trained on how many."""

    accelerators: int
    """Accelerators, instead of ``servers``."""
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
class TrainingWords(ScaleWords, DegreeWords, DetailWords, LawWords, StageWords, total=False):
    """How a transformer is trained; what is not given is searched."""

    zero: Annotated[int, Word("0|1|2|3")]
    """What replicas share out; see topoopt llm."""
    recompute: Annotated[str, Word("none|selective|full")]
    """Activations that the backward pass computes again."""
    sequence_parallel: bool
    """Split norms and dropouts over the tp ranks, or not."""
    calibration: Annotated[str, Word("NAME|FILE")]
    """Of step times; the accelerator's if not given."""
    loads: Annotated[str, Word("uniform|zipf[:A]|FILE.csv")]
    """Of experts, as topoopt llm traffic has them; even if not given."""
    candidates: Annotated[int, Word("K")]
    """Configurations that get a network of their own and are simulated on it; 8, fewer of very large ones."""


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
class LimitWords(StageWords, total=False):
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


@panel("Memory and times")
class MeasureWords(LawWords, total=False):
    """By what times and memory are counted."""

    precision: Annotated[str, Word("bf16|fp16|fp8|fp4|fp32")]
    """Of the matrix products; bf16 where the accelerator has it."""
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
