"""``topoopt choose``: which network to buy for a mix of jobs."""

from typing import Annotated, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.frontends.cli.exit_code import INTERRUPTED, was_interrupted
from topoopt.frontends.cli.output import check_folder_name, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import ChooseWords, File, Word


class ChooseFiles(TypedDict, total=False):
    """What is written."""

    out: Annotated[str, Word("DIR")]
    """A folder for the answer, a table of all networks and the plans; the same command goes on from there."""
    report: File
    """The answer as one HTML page."""


@spread
def choose(
    jobs: Annotated[
        list[str],
        Argument(
            metavar="JOB...",
            help="MODEL, MODEL:SHARE or MODEL@SERVERS:SHARE, a model being a name or a job file; or a mix file.",
            show_default=False,
        ),
    ],
    words: ChooseWords,
    files: ChooseFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which network to buy for a mix of jobs: every degree, bandwidth and fabric, money against time.

    Networks are priced first; those that may be on the front of money and time are planned for every job. Of the front
    the network is taken on which a year of work costs least, or the best within a limit.
    """
    out, page = files.get("out"), files.get("report")
    check_folder_name(out, "--out")
    check_writable(page, "--report", *jobs)
    try:
        with progress("starting processes", remaining=True) as report:
            answer = topoopt.choose(jobs, out=out, on_progress=report, **words)
    except BaseException as error:
        if out is None or not was_interrupted(error):
            raise
        echo(f"interrupted: what was planned is in {out}; the same command goes on", err=True)
        raise Exit(INTERRUPTED) from None
    if page is not None:
        topoopt.report(answer, out=page)
    show(answer, as_json, (), (out, page))
