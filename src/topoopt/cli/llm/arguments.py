"""The arguments that say which transformer is trained, how it is split, and on what machines."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

SHAPES, SPLIT, MACHINES = "Shapes by hand, or changes to the model", "How it is split", "Machines"
ACCELERATOR = "h100"


@dataclass(frozen=True, slots=True)
class TransformerArguments:
    """The model, or shapes by hand; ``None`` where a flag was not given."""

    source: Annotated[
        str | None,
        Argument(
            metavar="MODEL|config.json",
            show_default=False,
            help="A transformer (topoopt models), or the config.json of Hugging Face.",
        ),
    ] = None
    layers: Annotated[int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Layers.")] = None
    hidden: Annotated[int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Hidden size.")] = None
    heads: Annotated[int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Attention heads.")] = None
    kv_heads: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=SHAPES, help="Heads of keys and values; as many as --heads."),
    ] = None
    head_dim: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Size of a head; hidden/heads.")
    ] = None
    ffn: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=SHAPES, help="Inner size of the feed-forward part; 4 x hidden."),
    ] = None
    gated: Annotated[
        bool | None,
        Option(
            "--gated/--not-gated",
            rich_help_panel=SHAPES,
            help="Three feed-forward matrices (SwiGLU) or two; two.",
        ),
    ] = None
    vocabulary: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Rows of the embedding; 51200.")
    ] = None
    tied: Annotated[
        bool | None,
        Option(
            "--tied/--untied", rich_help_panel=SHAPES, help="Output layer shares the embedding or not; tied."
        ),
    ] = None
    experts: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Routed experts of a layer; none.")
    ] = None
    experts_per_token: Annotated[
        int | None, Option(metavar="K", rich_help_panel=SHAPES, help="Experts that a token goes to; 2.")
    ] = None
    expert_ffn: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Inner size of one expert; --ffn.")
    ] = None
    shared_ffn: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=SHAPES, help="Inner size of the shared experts together; 0."),
    ] = None
    capacity_factor: Annotated[
        float | None,
        Option(
            metavar="X",
            rich_help_panel=SHAPES,
            help="Tokens that an expert takes at most, over the even share; no limit.",
        ),
    ] = None
    seq: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SHAPES, help="Tokens of a sequence; the model's own.")
    ] = None


@dataclass(frozen=True, slots=True)
class ConfigurationArguments:
    """How the model and its batch are split."""

    tp: Annotated[int, Option(metavar="N", rich_help_panel=SPLIT, help="Tensor parallel degree.")] = 1
    pp: Annotated[int, Option(metavar="N", rich_help_panel=SPLIT, help="Pipeline stages.")] = 1
    dp: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=SPLIT, help="Data parallel replicas; what the other degrees leave."
        ),
    ] = None
    cp: Annotated[int, Option(metavar="N", rich_help_panel=SPLIT, help="Context parallel degree.")] = 1
    ep: Annotated[int, Option(metavar="N", rich_help_panel=SPLIT, help="Expert parallel degree.")] = 1
    etp: Annotated[
        int, Option(metavar="N", rich_help_panel=SPLIT, help="Tensor parallel degree inside an expert.")
    ] = 1
    vpp: Annotated[
        int,
        Option(metavar="N", rich_help_panel=SPLIT, help="Model chunks of a pipeline rank (interleaving)."),
    ] = 1
    micro_batch: Annotated[
        int, Option(metavar="N", rich_help_panel=SPLIT, help="Sequences of a micro-batch.")
    ] = 1
    global_batch: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=SPLIT,
            help="Sequences of an iteration; about 4 million tokens if not given.",
        ),
    ] = None
    recompute: Annotated[
        str,
        Option(
            metavar="none|selective|full",
            rich_help_panel=SPLIT,
            help="Activations that the backward pass computes again.",
        ),
    ] = "none"
    zero: Annotated[
        int,
        Option(
            metavar="0|1|2|3",
            rich_help_panel=SPLIT,
            help="Replicas share out nothing, optimizer state, gradients too, parameters too.",
        ),
    ] = 0
    sequence_parallel: Annotated[
        bool,
        Option(
            "--sequence-parallel",
            rich_help_panel=SPLIT,
            help="Split norms and dropouts over the tp ranks, along the sequence.",
        ),
    ] = False
    uneven_stages: Annotated[
        bool,
        Option(
            "--uneven-stages",
            rich_help_panel=SPLIT,
            help="Let the layers be cut into any number of stages, where they do not come out even.",
        ),
    ] = False
    precision: Annotated[
        str | None,
        Option(
            metavar="bf16|fp16|fp8|fp32",
            rich_help_panel=SPLIT,
            help="Of the matrix products; bf16 where the accelerator has it.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class SystemArguments:
    """The machines; ``None`` where the catalogue's row of the accelerator holds."""

    accelerators: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=MACHINES, help="Accelerators; the product of the degrees with --dp."
        ),
    ] = None
    accelerator: Annotated[
        str, Option(metavar="NAME", rich_help_panel=MACHINES, help="See topoopt hardware.")
    ] = ACCELERATOR
    accelerators_per_server: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=MACHINES, help="Joined by scale-up links; the accelerator's own."
        ),
    ] = None
    bandwidth: Annotated[
        str | None,
        Option(
            metavar="RATE",
            rich_help_panel=MACHINES,
            help="Network bandwidth of one accelerator, each way; the accelerator's reference system's.",
        ),
    ] = None
    intra_server_bandwidth: Annotated[
        str | None,
        Option(
            metavar="RATE",
            rich_help_panel=MACHINES,
            help="Scale-up bandwidth of one accelerator, each way; the accelerator's own.",
        ),
    ] = None
    latency: Annotated[str, Option(metavar="TIME", rich_help_panel=MACHINES, help="Of one hop.")] = "1us"
