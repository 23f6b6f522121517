"""One chart as a file: a picture, or a page for the browser; the suffix says which."""

from pathlib import Path, PurePath

from topoopt.errors import InvalidInput
from topoopt.files import write_bytes_atomically
from topoopt.report.chart import Chart
from topoopt.report.html import write_report
from topoopt.report.page import Page, Section
from topoopt.report.paper import FORMATS

PAGE = "html"


def check_chart_file(path: str, place: str = "figure") -> str:
    """Return the kind of picture that a file name asks for.

    Raises
    ------
    InvalidInput
        For a suffix that is none of a picture's.
    """
    suffix = PurePath(path).suffix.lower().lstrip(".")
    if suffix not in (*FORMATS, PAGE):
        allowed = ", ".join(f".{name}" for name in (*FORMATS, PAGE))
        raise InvalidInput(f"{place}: {path}: expected a file name that ends in one of {allowed}")
    return suffix


def write_chart(path: str | Path, chart: Chart) -> None:
    """Write a chart as ``.png``, ``.svg``, ``.pdf`` or ``.html``, whole or not at all; errors as the check's."""
    kind = check_chart_file(str(path))
    if kind == PAGE:
        section = Section("chart", "Chart", chart.note, (chart,))
        write_report(path, Page("sweep", chart.title, "", (), (), (section,)))
        return
    from topoopt.report.paper_figure import drawn  # noqa: PLC0415 - matplotlib takes a second to import

    write_bytes_atomically(path, drawn(chart, (kind,))[kind])
