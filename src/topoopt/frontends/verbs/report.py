"""``topoopt.report``: an answer as one HTML page, and its figures for papers."""

import os
from collections.abc import Sequence
from typing import Any

from topoopt.base.answers import Progress, silent
from topoopt.base.extras import library
from topoopt.jobs import expecting
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
    comparison; occupancy, iteration times and waiting of a cluster; the page of any other answer.

    Parameters
    ----------
    answer
        Answer of a verb, or a JSON file of a plan, a comparison or a cluster.
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
    with expecting(file, "plan", "comparison", "cluster-result"):
        subject = answer if file is None else read_subject(file)
    page = make_page(subject)
    drawn = (
        () if figures is None else tuple(draw_charts(page.charts, os.fspath(figures), suffixes, on_progress))
    )
    place = os.fspath(out)
    return WrittenReport(file, page, place, write_report(place, page), drawn)
