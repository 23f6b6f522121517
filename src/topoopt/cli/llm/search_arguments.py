"""The arguments of ``topoopt llm search``: what of a configuration is fixed, and how far the search goes."""

from dataclasses import dataclass
from typing import Annotated

import typer

FIXED, LIMITS, MEMORY = (
    "What is fixed (all the rest is searched)",
    "How far the search goes",
    "Memory and times",
)


@dataclass(frozen=True, slots=True)
class FixedArguments:
    """Fields of a configuration that are not searched; ``None`` where they are."""

    tp: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Tensor parallel degree.")
    ] = None
    pp: Annotated[int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Pipeline stages.")] = (
        None
    )
    dp: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Data parallel replicas.")
    ] = None
    cp: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Context parallel degree.")
    ] = None
    ep: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Expert parallel degree.")
    ] = None
    etp: Annotated[
        int | None,
        typer.Option(metavar="N", rich_help_panel=FIXED, help="Tensor parallel degree inside an expert."),
    ] = None
    vpp: Annotated[
        int | None,
        typer.Option(metavar="N", rich_help_panel=FIXED, help="Model chunks of a pipeline rank."),
    ] = None
    micro_batch: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=FIXED, help="Sequences of a micro-batch.")
    ] = None
    recompute: Annotated[
        str | None,
        typer.Option(
            metavar="none|selective|full", rich_help_panel=FIXED, help="Activations computed again."
        ),
    ] = None
    zero: Annotated[
        int | None,
        typer.Option(
            metavar="0|1|2|3",
            rich_help_panel=FIXED,
            help="What replicas share out; 2 and 3 without stages unless --pp is given, too.",
        ),
    ] = None
    sequence_parallel: Annotated[
        bool | None,
        typer.Option(
            "--sequence-parallel/--no-sequence-parallel",
            rich_help_panel=FIXED,
            help="Split norms and dropouts over the tp ranks, or not.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class LimitArguments:
    """The most that the search tries."""

    max_tp: Annotated[
        int | None,
        typer.Option(metavar="N", rich_help_panel=LIMITS, help="Accelerators of a server if not given."),
    ] = None
    max_pp: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=LIMITS, help="As many as layers.")
    ] = None
    max_cp: Annotated[
        int | None,
        typer.Option(metavar="N", rich_help_panel=LIMITS, help="One for every 4,096 tokens of a sequence."),
    ] = None
    max_ep: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=LIMITS, help="As many as experts.")
    ] = None
    max_vpp: Annotated[int, typer.Option(metavar="N", rich_help_panel=LIMITS, help="Chunks of a rank.")] = 12
    max_micro_batch: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=LIMITS, help="Powers of two up to it are tried.")
    ] = 16
    uneven_stages: Annotated[
        bool,
        typer.Option(
            "--uneven-stages", rich_help_panel=LIMITS, help="Stages need not have equally many layers."
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class HowArguments:
    """The batch, and by what times and memory are counted."""

    global_batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Sequences of an iteration; about 4 million tokens if not given."),
    ] = None
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="bf16|fp16|fp8|fp32",
            rich_help_panel=MEMORY,
            help="Of the matrix products; bf16 where the accelerator has it.",
        ),
    ] = None
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="fused|eager",
            rich_help_panel=MEMORY,
            help="FlashAttention, or scores in memory; fused unless the calibration is eager.",
        ),
    ] = None
    framework: Annotated[
        str,
        typer.Option(
            metavar="megatron|deepspeed|half-gradients|fsdp",
            rich_help_panel=MEMORY,
            help="Bytes per parameter, and what is taken beside tensors.",
        ),
    ] = "megatron"
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=MEMORY,
            help="Of step times (topoopt llm calibrate, topoopt profile); the accelerator's if not given.",
        ),
    ] = None
