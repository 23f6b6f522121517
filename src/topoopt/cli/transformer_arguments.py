"""The arguments that say which transformer is trained, how it is split, and on what machines."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from topoopt.cli.transformer_shapes import changed_model, model_by_hand
from topoopt.errors import InvalidInput
from topoopt.units import parse_bandwidth, parse_time

if TYPE_CHECKING:
    from topoopt.hardware import Accelerator
    from topoopt.llm import Configuration, System
    from topoopt.transformer import TransformerModel

SHAPES, SPLIT, MACHINES = "Shapes by hand, or changes to the model", "How it is split", "Machines"
ACCELERATOR = "h100"
MOST_ACCELERATORS = 10_000_000
"""Far beyond what is built; counts and times stay exact up to it."""


@dataclass(frozen=True, slots=True)
class TransformerArguments:
    """The model, or shapes by hand; ``None`` where a flag was not given."""

    model: Annotated[
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


def requested_model(said: TransformerArguments) -> "TransformerModel":
    """Return the model of the zoo, of a ``config.json``, or of shapes by hand.

    Shapes that are given beside a model change it.

    Raises
    ------
    InvalidInput
        If there is no such model or file, or too few shapes are given.
    """
    if said.model is None:
        return model_by_hand(said)
    return changed_model(_named_model(said.model), said)


def requested_configuration(
    model: "TransformerModel",
    said: ConfigurationArguments,
    accelerators: int | None,
    accelerator: str = ACCELERATOR,
) -> "Configuration":
    """Return the configuration, checked against the model and the number of accelerators.

    Without ``--dp`` the replicas are what the other degrees leave of the accelerators; without
    ``accelerators`` there are as many as the degrees multiply to. Batch and precision are the usual ones where
    nothing is said; the latter depends on the ``accelerator``.

    Raises
    ------
    InvalidInput
        With the nearest valid values, see :func:`~topoopt.llm.check_configuration`.
    """
    from topoopt.llm import Configuration, check_configuration, usual_precision

    for flag in ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch", "global_batch"):
        value = getattr(said, flag)
        if value is not None and value < 1:
            raise InvalidInput(f"--{flag.replace('_', '-')}: expected an integer >= 1, got {value}")
    check_accelerators(accelerators)
    if said.dp is None and accelerators is None:
        raise InvalidInput(
            "--accelerators: say how many accelerators there are, or how many replicas with --dp"
        )
    others = said.tp * said.pp * said.cp
    dp = said.dp if said.dp is not None else max((accelerators or 1) // others, 1)
    precision = usual_precision(accelerator) if said.precision is None else said.precision
    configuration = Configuration(
        tp=said.tp,
        pp=said.pp,
        dp=dp,
        cp=said.cp,
        ep=said.ep,
        etp=said.etp,
        vpp=said.vpp,
        micro_batch=said.micro_batch,
        global_batch=_batch(said, dp, model.sequence),
        sequence=model.sequence,
        recompute=said.recompute,
        zero=said.zero,
        sequence_parallel=said.sequence_parallel,
        precision=precision,
    )
    check_configuration(model, configuration, accelerators or configuration.accelerators, said.uneven_stages)
    return configuration


def requested_system(said: SystemArguments) -> "System":
    """Return the machines; what is not said comes from the catalogue's row of the accelerator.

    Raises
    ------
    InvalidInput
        If the accelerator is unknown, or a number is neither given nor in the catalogue.
    """
    from topoopt.hardware import find_accelerator
    from topoopt.llm import System

    part = find_accelerator(said.accelerator)
    per_server = said.accelerators_per_server
    scale_up = _rate(
        said.intra_server_bandwidth, "--intra-server-bandwidth", part.scale_up_bandwidth_bps, part
    )
    return System(
        accelerator=said.accelerator,
        accelerators_per_server=accelerators_of_a_server(part) if per_server is None else per_server,
        scale_up_bandwidth_bps=scale_up,
        network_bandwidth_bps=_rate(said.bandwidth, "--bandwidth", part.nic_bandwidth_bps, part),
        network_latency_s=parse_time(said.latency, "--latency"),
    )


def _named_model(word: str) -> "TransformerModel":
    from topoopt.files import is_file
    from topoopt.transformer import find_transformer, read_config

    if Path(word).suffix.lower() == ".json" or "/" in word or is_file(word):
        return read_config(word)
    return find_transformer(word)


def check_accelerators(accelerators: int | None) -> None:
    """Refuse a number of accelerators that nobody has.

    Raises
    ------
    InvalidInput
        If it is below 1 or above :data:`MOST_ACCELERATORS`.
    """
    if accelerators is not None and not 1 <= accelerators <= MOST_ACCELERATORS:
        raise InvalidInput(
            f"--accelerators: expected an integer from 1 to {MOST_ACCELERATORS:,}, got {accelerators}"
        )


def _batch(said: ConfigurationArguments, dp: int, sequence: int) -> int:
    from topoopt.llm import usual_batch

    if said.global_batch is not None:
        return said.global_batch
    rounds = said.pp if said.vpp > 1 else 1  # interleaving needs micro-batches in multiples of the stages
    step = dp * said.micro_batch * rounds
    return usual_batch(sequence, said.tp * said.pp * said.cp * dp, step)


def accelerators_of_a_server(part: "Accelerator") -> int:
    """Return the smallest number of accelerators that scale-up links join; the catalogue may say ``4-32``.

    Raises
    ------
    InvalidInput
        If the catalogue does not say.
    """
    match = re.match(r"\d+", part.scale_up_domain)
    if match is None:
        raise InvalidInput(
            f"--accelerators-per-server: the catalogue does not say how many {part.name} share one"
        )
    return int(match[0])


def _rate(text: str | None, flag: str, known: float | None, part: "Accelerator") -> float:
    if text is not None:
        return parse_bandwidth(text, flag)
    if known is None:
        raise InvalidInput(
            f"{flag}: the catalogue gives none for {part.name}; write for example {flag} 400Gbps"
        )
    return known
