"""The arguments that say how a transformer is trained; what is not said is searched."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

TRAINING = "Transformers in pipeline stages (what is not given is searched)"


@dataclass(frozen=True, slots=True)
class TrainingArguments:
    """What the flags say; ``None`` where a flag was not given."""

    accelerators: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=TRAINING, help="Accelerators, instead of --servers."),
    ] = None
    global_batch: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=TRAINING,
            help="Sequences of an iteration; about 4 million tokens if not given.",
        ),
    ] = None
    seq: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=TRAINING, help="Tokens of a sequence; the model's own."),
    ] = None
    tp: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Tensor parallel degree.")
    ] = None
    pp: Annotated[int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Pipeline stages.")] = None
    dp: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Data parallel replicas.")
    ] = None
    cp: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Context parallel degree.")
    ] = None
    ep: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Expert parallel degree.")
    ] = None
    etp: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=TRAINING, help="Tensor parallel degree inside an expert."),
    ] = None
    vpp: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Model chunks of a pipeline rank.")
    ] = None
    micro_batch: Annotated[
        int | None, Option(metavar="N", rich_help_panel=TRAINING, help="Sequences of a micro-batch.")
    ] = None
    zero: Annotated[
        int | None,
        Option(metavar="0|1|2|3", rich_help_panel=TRAINING, help="What replicas share out; see topoopt llm."),
    ] = None
    recompute: Annotated[
        str | None,
        Option(
            metavar="none|selective|full",
            rich_help_panel=TRAINING,
            help="Activations that the backward pass computes again.",
        ),
    ] = None
    calibration: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE",
            rich_help_panel=TRAINING,
            help="Of step times; the accelerator's if not given.",
        ),
    ] = None
    loads: Annotated[
        str | None,
        Option(
            metavar="uniform|zipf[:A]|FILE.csv",
            rich_help_panel=TRAINING,
            help="Of experts, as topoopt llm traffic has them; even if not given.",
        ),
    ] = None
    candidates: Annotated[
        int | None,
        Option(
            metavar="K",
            rich_help_panel=TRAINING,
            help="Configurations that get a network of their own and are simulated on it; 8.",
        ),
    ] = None
