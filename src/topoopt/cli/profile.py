"""``topoopt profile``: every operator of a model measured on the hardware of this machine."""

import shlex
from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Argument, Option

import topoopt
from topoopt.cli.failure import INTERRUPTED
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.spread import spread
from topoopt.cli.words import words
from topoopt.errors import InvalidInput

MODEL, HOW, TRANSFORMERS = "What is measured", "How it is measured", "Transformers"


@dataclass(frozen=True, slots=True)
class HowArguments:
    """On what, and how often."""

    device: Annotated[
        str, Option(metavar="auto|cpu|cuda", rich_help_panel=HOW, help="auto: a GPU where there is one.")
    ] = "auto"
    precision: Annotated[
        str, Option(metavar="fp32|tf32|bf16|fp16", rich_help_panel=HOW, help="Of the arithmetic.")
    ] = "fp32"
    threads: Annotated[
        int, Option(metavar="N", rich_help_panel=HOW, help="Of a CPU; 0: as many as PyTorch takes.")
    ] = 0
    repetitions: Annotated[
        int, Option(metavar="N", rich_help_panel=HOW, help="Passes that a median is of.")
    ] = 20
    warm_up: Annotated[
        int, Option(metavar="N", rich_help_panel=HOW, help="Passes before those, not counted.")
    ] = 3
    time_limit: Annotated[
        str | None,
        Option(metavar="TIME", rich_help_panel=HOW, help="Such as 10min; small sizes come first."),
    ] = None


@dataclass(frozen=True, slots=True)
class SubjectArguments:
    """What is measured; ``None`` where a flag was not given."""

    operators: Annotated[
        str | None,
        Option(metavar="LIST", rich_help_panel=MODEL, help="Only these kinds or names, such as dense,top_*."),
    ] = None
    variant: Annotated[str | None, Option(rich_help_panel=MODEL, help="Published variant of the model.")] = (
        None
    )
    set: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", rich_help_panel=MODEL, help="Change a hyper-parameter."),
    ] = None
    batch_per_accelerator: Annotated[
        int | None, Option(metavar="N", rich_help_panel=MODEL, help="Samples; the model's own.")
    ] = None
    servers: Annotated[
        int | None, Option(metavar="N", rich_help_panel=MODEL, help="Servers; the variant's.")
    ] = None
    accelerators_per_server: Annotated[
        int | None, Option(metavar="N", rich_help_panel=MODEL, help="Accelerators of a server; 4.")
    ] = None
    tensor_parallel: Annotated[
        str | None, Option(metavar="LIST", rich_help_panel=TRANSFORMERS, help="Degrees; 1,2,4,8.")
    ] = None
    micro_batch: Annotated[
        str | None, Option(metavar="LIST", rich_help_panel=TRANSFORMERS, help="Sequences; 1,2,4,8.")
    ] = None
    seq: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=TRANSFORMERS, help="Tokens of a sequence; the model's own."),
    ] = None


@spread
def profile(
    source: Annotated[
        str,
        Argument(
            metavar="MODEL|FILE",
            show_default=False,
            help="A model (topoopt models), operators (.yaml, .csv), a job.yaml, a transformer or its config.json.",
        ),
    ],
    how: HowArguments,
    subject: SubjectArguments,
    out: Annotated[
        str | None,
        Option(
            metavar="FILE", help="Write the profile, for --profile-file; what is in it is not measured again."
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be measured; PyTorch is not needed.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON, measurements included.")] = False,
) -> None:
    """Measure a model's operators here, at every split size that a search may choose.

    Needs PyTorch: pip install "topoopt\\[torch]". After Ctrl-C, or at the time limit, the same command goes on.
    Plan with the result: topoopt plan MODEL --profile-file FILE.
    """
    check_writable(out, "--out", source)
    measured = words(how)
    nothing = [word for word, value in measured.items() if value == ""]
    if nothing:  # a dry run uses none of them
        raise InvalidInput(f"{nothing[0]}: expected a value, got nothing")
    if dry_run:
        sizes = topoopt.profile_subject(source, **words(subject))
        if as_json:
            print_json(sizes.to_json())
        else:
            show(sizes)
        return
    with progress("measuring", remaining=True) as report:
        run = topoopt.profile(source, out=out, on_progress=report, **measured, **words(subject))
    if as_json:
        print_json(run.to_json())
    else:
        show(run, (_next_step(run.profile.source, run.stopped_because, source, out),))
    if run.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _next_step(kind: str, stopped_because: str, source: str, out: str | None) -> str:
    if out is None:
        return "To keep the measurements, and to plan with them: --out profile.json"
    if stopped_because != "finished":
        return f"{shlex.quote(out)} holds what was measured; the same command goes on."
    if kind == "transformer":
        return f"topoopt llm search {shlex.quote(source)} --accelerators 64 --calibration {shlex.quote(out)}"
    if kind == "zoo":
        return f"topoopt plan {shlex.quote(out)}"
    return f"topoopt plan {shlex.quote(source)} --profile-file {shlex.quote(out)}"
