"""``topoopt.report``: an answer as one HTML page, and its figures for papers."""

import os
from collections.abc import Sequence
from typing import Any

from topoopt.base.answers import Progress, silent
from topoopt.base.extras import library
from topoopt.frontends.verbs.sweep import results_report
from topoopt.jobs import expecting, file_kind
from topoopt.pages import (
    FORMATS,
    WrittenReport,
    check_formats,
    draw_charts,
    make_page,
    read_subject,
    write_report,
)
from topoopt.schema.words import checked_arguments
from topoopt.studies.sweep import SweepAnswer


@checked_arguments
def report(
    answer: Any,
    out: str | os.PathLike[str] = "report.html",
    *,
    figures: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = tuple(FORMATS),
    on_progress: Progress = silent,
) -> WrittenReport:
    """Write an interactive HTML page that works offline.

    Topology, traffic, timeline, other fabrics, bounds, search and strategy of a plan; times and prices of a
    comparison; occupancy, iteration times and waiting of a cluster; times and prices of a sweep; the page of any other
    answer. Of an answer that was printed as JSON, the page has its figures, and charts of them.

    Parameters
    ----------
    answer
        Answer of a verb; or a file: a plan, the results of a sweep, the folder of a choice, or the JSON that compare,
        cluster, serving, rl, finetune, fail or choose print.
    out
        File of the page.
    figures
        Folder for figures for papers.
    formats
        Formats of these figures.
    on_progress
        Progress callback: stage, items done, and total.

    Returns
    -------
    WrittenReport

    Raises
    ------
    InvalidInput
        If the file cannot be read or is of another kind, or the page cannot be written.
    """
    suffixes = check_formats(tuple(formats))
    if figures is not None:
        library("matplotlib", "figures", "figures")
    file = os.fspath(answer) if isinstance(answer, (str, os.PathLike)) else None
    if file is not None and file_kind(file) == "results":
        page = results_report(file)
    elif isinstance(answer, SweepAnswer):
        page = results_report(answer.out)
    else:
        with expecting(file, "plan", "comparison", "cluster-result"):
            page = make_page(answer if file is None else read_subject(file))
    drawn = (
        () if figures is None else tuple(draw_charts(page.charts, os.fspath(figures), suffixes, on_progress))
    )
    place = os.fspath(out)
    return WrittenReport(file, page, place, write_report(place, page), drawn)
