"""``topoopt interleave``: when each of several jobs that share a link begins its iterations."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import check_folder_name, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, InterleaveWords, Word


class InterleaveFiles(TypedDict, total=False):
    """What is written."""

    report: File
    """Write the page with the circles before and after rotation, one HTML file that needs no network."""
    figures: Annotated[str, Word("DIR")]
    """Draw the circles for papers (PNG, SVG, PDF) into this folder."""


@spread
def interleave(
    jobs: Annotated[
        list[str],
        Argument(
            metavar="JOB...",
            help="Job files, plans, task graphs or CSVs of counters of those that share the link.",
            show_default=False,
        ),
    ],
    capacity: Annotated[
        str, Option(metavar="RATE", show_default=False, help="Of the link that they share, such as 50Gbps.")
    ],
    words: InterleaveWords,
    files: InterleaveFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say when each of several jobs that share a link begins, so that they send at different times.

    Every job is a circle of its iteration time; they are turned until what they send together exceeds the link the
    least (CASSINI). Where that cannot help, the nearest iteration time that would is named.
    """
    report, figures = files.get("report"), files.get("figures")
    check_writable(report, "--report", *jobs)
    check_folder_name(figures, "--figures")
    with progress("turning circles"):
        answer = topoopt.interleave(jobs, capacity, **words)
    if report is not None:
        with progress("writing the page"):
            topoopt.report(answer, report)
    if figures is not None:
        with progress("drawing figures") as tell:
            topoopt.draw_charts(topoopt.page_of(answer).charts, figures, on_progress=tell)
    show(answer, as_json, written=() if as_json else (report, figures))
