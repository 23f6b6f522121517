"""``topoopt phases``: what a job sends on a link in one iteration, and when."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, PhasesWords


class PhasesFiles(TypedDict, total=False):
    """What is written."""

    out: File
    """Write the profile as a job file, which topoopt interleave reads."""


@spread
def phases(
    job: Annotated[
        str,
        Argument(metavar="JOB", help="A plan, a task graph, a CSV of counters or rates, or a job file."),
    ],
    words: PhasesWords,
    files: PhasesFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a job sends on a link in one iteration, and when: from a simulation, or from what was measured."""
    out = files.get("out")
    check_writable(out, "--out", job)
    if out is not None and words.get("link") == "all":
        raise InvalidInput("--out: a job file is of one link; name it with --link A-B")
    with progress("looking when the job sends"):
        answer = topoopt.phases(job, **words)
    if out is not None:
        topoopt.write_profile(out, answer.profile)
    show(answer, as_json, written=(out,))
