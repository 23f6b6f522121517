"""``topoopt profile``: every operator of a model measured on the hardware of this machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.profile import ProfileRun, Repetitions, Subject
    from topoopt.workload import DeviceProfile

MODEL, HOW, TRANSFORMERS = "What is measured", "How it is measured", "Transformers"


def profile(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|FILE",
            show_default=False,
            help="A model (topoopt models), operators (.yaml, .csv), a job.yaml, a transformer or its config.json.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the profile, for --profile-file; what is in it is not measured again."
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(metavar="auto|cpu|cuda", rich_help_panel=HOW, help="auto: a GPU where there is one."),
    ] = "auto",
    precision: Annotated[
        str, typer.Option(metavar="fp32|tf32|bf16|fp16", rich_help_panel=HOW, help="Of the arithmetic.")
    ] = "fp32",
    threads: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=HOW, help="Of a CPU; 0: as many as PyTorch takes.")
    ] = 0,
    repetitions: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=HOW, help="Passes that a median is of.")
    ] = 20,
    warm_up: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=HOW, help="Passes before those, not counted.")
    ] = 3,
    time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=HOW, help="Such as 10min; small sizes come first."),
    ] = None,
    operators: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", rich_help_panel=MODEL, help="Only these kinds or names, such as dense,top_*."
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(rich_help_panel=MODEL, help="Published variant of the model.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", rich_help_panel=MODEL, help="Change a hyper-parameter."),
    ] = None,
    batch_per_accelerator: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=MODEL, help="Samples; the model's own.")
    ] = None,
    servers: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=MODEL, help="Servers; the variant's.")
    ] = None,
    accelerators_per_server: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=MODEL, help="Accelerators of a server; 4.")
    ] = None,
    tensor_parallel: Annotated[
        str | None, typer.Option(metavar="LIST", rich_help_panel=TRANSFORMERS, help="Degrees; 1,2,4,8.")
    ] = None,
    micro_batch: Annotated[
        str | None, typer.Option(metavar="LIST", rich_help_panel=TRANSFORMERS, help="Sequences; 1,2,4,8.")
    ] = None,
    seq: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel=TRANSFORMERS, help="Tokens of a sequence; the model's own."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be measured; PyTorch is not needed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, measurements included.")] = False,
) -> None:
    """Measure a model's operators here, at every split size that a search may choose.

    Needs PyTorch: pip install "topoopt\\[torch]". After Ctrl-C, or at the time limit, the same command goes on.
    Plan with the result: topoopt plan MODEL --profile-file FILE.
    """
    from topoopt.cli.failure import INTERRUPTED
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.profile_report import print_dry_run, print_profile
    from topoopt.cli.profile_subject import ProfileWords, asked_subject
    from topoopt.cli.render import print_json, terminal
    from topoopt.profile import Repetitions, check_device, only_operators

    check_writable(out, "--out", source)
    check_device(device, precision, threads)
    passes = Repetitions(warm_up, repetitions)
    limit_s = _limit_s(time_limit)
    words = ProfileWords(
        source,
        variant,
        change or [],
        batch_per_accelerator,
        servers,
        accelerators_per_server,
        tensor_parallel,
        micro_batch,
        seq,
    )
    subject = asked_subject(words)
    chosen = listed(operators, "--operators", "kinds or names with commas")
    if chosen is not None:
        subject = only_operators(subject, chosen)
    if dry_run:
        print_dry_run(subject, as_json)
        return
    run = _measured(subject, (device, precision, threads), passes, limit_s, out)
    if as_json:
        print_json(_document(run, out))
    else:
        print_profile(terminal(), run, source, out)
    if run.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _measured(
    subject: "Subject", on: tuple[str, str, int], passes: "Repetitions", limit_s: float, out: str | None
) -> "ProfileRun":
    import json

    from topoopt.cli.progress import progress
    from topoopt.files import is_file, write_atomically
    from topoopt.profile import check_same, find_device, measure_subject
    from topoopt.workload import device_profile_to_mapping, read_device_profile

    known = read_device_profile(out) if out is not None and is_file(out) else None
    device = find_device(*on)
    if known is not None:
        try:
            check_same(known, subject, device)
        except InvalidInput as error:
            raise InvalidInput(f"--out: {out}: {error}") from None

    def save(profile: "DeviceProfile") -> None:
        if out is not None:
            write_atomically(out, json.dumps(device_profile_to_mapping(profile), indent=1) + "\n")

    with progress("measuring", remaining=True) as report:
        return measure_subject(
            subject,
            device,
            known,
            repetitions=passes,
            time_limit_s=limit_s,
            save=save,
            on_progress=report,
        )


def _document(run: "ProfileRun", out: str | None) -> dict[str, object]:
    from topoopt.workload import device_profile_to_mapping

    return {
        "out": out,
        "sizes": run.asked,
        "found": run.found,
        "measured": run.measured,
        "failed": run.failed,
        "too_long": run.too_long,
        "stopped_because": run.stopped_because,
        "profile": device_profile_to_mapping(run.profile),
    }


def _limit_s(text: str | None) -> float:
    from topoopt.units import parse_time

    if text is None:
        return float("inf")
    limit_s = parse_time(text, "--time-limit")
    if limit_s <= 0:
        raise InvalidInput(f'--time-limit: must be positive, got "{text}"')
    return limit_s
