"""``topoopt phases`` and ``topoopt interleave``: when a job sends on a link, and when each of several starts."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.base.extras import library
from topoopt.frontends.cli.output import check_folder_name, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, InterleaveWords, PhasesWords, Word


class PhasesFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the profile as a job file, which topoopt interleave reads."""


class InterleaveFiles(TypedDict, total=False):
    """Output files."""

    figures: Annotated[str, Word("DIR")]
    """Write the circles as PNG, SVG and PDF into this directory."""


@spread
def interleave(
    jobs: Annotated[
        list[str],
        Argument(
            metavar="JOB...",
            help="Jobs that share the link: job files, plans, task graphs or CSVs of counters.",
            show_default=False,
        ),
    ],
    capacity: Annotated[
        str, Option(metavar="RATE", show_default=False, help="Bandwidth of the shared link, such as 50Gbps.")
    ],
    words: InterleaveWords,
    files: InterleaveFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find time shifts for jobs that share a link, so that they send at different times (CASSINI).

    Every job is a circle of its iteration time; the circles are rotated to minimize the excess of their total demand
    over the link. Where no rotation helps, the nearest iteration time that would is named.
    """
    figures = files.get("figures")
    check_folder_name(figures, "--figures")
    if figures is not None:
        library("matplotlib", "figures", "--figures")
    with progress("turning circles"):
        answer = topoopt.interleave(jobs, capacity, **words)
    if figures is not None:
        with progress("drawing figures") as tell:
            topoopt.draw_charts(topoopt.page_of(answer).charts, figures, on_progress=tell)
    show(answer, as_json, written=(figures,))


@spread
def phases(
    job: Annotated[
        str, Argument(metavar="JOB", help="A plan, a task graph, a CSV of counters or rates, or a job file.")
    ],
    words: PhasesWords,
    files: PhasesFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Extract the communication phases of a job on a link, from a simulation or from measured counters."""
    out = files.get("out")
    check_writable(out, "--out", job)
    if out is not None and words.get("link") == "all":
        raise InvalidInput("--out: a job file is of one link; name it with --link A-B")
    with progress("looking when the job sends"):
        answer = topoopt.phases(job, **words)
    if out is not None:
        topoopt.write_profile(out, answer.profile)
    show(answer, as_json, written=(out,))
