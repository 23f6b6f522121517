"""``topoopt profile``: every operator of a model measured on the hardware of this machine."""

import shlex
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli import INTERRUPTED, check_writable, progress, show, spread
from topoopt.plugins.profiling.words import DeviceWords, SubjectWords
from topoopt.schema.words import File, Switch


class ProfileFiles(TypedDict, total=False):
    """Output files of a measurement."""

    out: File
    """Write the profile, for --profile-file; sizes already in it are not measured again."""
    dry_run: Switch
    """List the measurements only; PyTorch is not needed."""


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
    device: DeviceWords,
    subject: SubjectWords,
    files: ProfileFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON, measurements included.")] = False,
) -> None:
    """Measure a model's operators on this machine, at every split size that the search may choose.

    Needs PyTorch: pip install "topoopt\\[torch]". After Ctrl-C, or at the time limit, the same command goes on.
    Plan with the result: topoopt plan MODEL --profile-file FILE.
    """
    out = files.get("out")
    check_writable(out, "--out", source)
    nothing = [word for word, value in device.items() if value == ""]
    if nothing:  # a dry run uses none of them
        raise InvalidInput(f"{nothing[0]}: expected a value, got nothing")
    if files["dry_run"]:
        show(topoopt.profile_subject(source, **subject), as_json)
        return
    with progress("measuring", remaining=True) as report:
        run = topoopt.profile(source, out=out, on_progress=report, **device, **subject)
    if out is None:
        next_step = "To keep the measurements, and to plan with them: --out profile.json"
    elif run.stopped_because != "finished":
        next_step = f"{shlex.quote(out)} holds what was measured; the same command goes on."
    elif run.profile.source == "transformer":
        next_step = (
            f"topoopt llm search {shlex.quote(source)} --accelerators 64 --calibration {shlex.quote(out)}"
        )
    elif run.profile.source == "zoo":
        next_step = f"topoopt plan {shlex.quote(out)}"
    else:
        next_step = f"topoopt plan {shlex.quote(source)} --profile-file {shlex.quote(out)}"
    show(run, as_json, (next_step,))
    if run.stopped_because == "interrupted":
        raise Exit(INTERRUPTED)
