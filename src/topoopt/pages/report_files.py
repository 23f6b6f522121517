"""Charts as files: pictures by matplotlib, equal bytes for equal charts, or a page for the browser."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from topoopt.base.answers import shows_itself
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.progress import Progress, silent
from topoopt.base.units import format_bytes
from topoopt.pages.chart import Chart
from topoopt.pages.html import write_report
from topoopt.pages.number_format import counted
from topoopt.pages.page import Block, Facts, Notes, Page, Section
from topoopt.schema.files import write_bytes_atomically


@shows_itself
@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A page in a file.

    Attributes
    ----------
    file : str or None
        What was read; None where an answer was handed over.
    figures : tuple of str
        Files of the figures for papers.
    """

    file: str | None
    page: Page
    out: str
    size_bytes: int
    figures: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return what the report says and where it is as a mapping."""
        page = self.page
        return {
            "file": self.file,
            "kind": page.kind,
            "title": page.heading,
            "headline": page.headline,
            "key_numbers": dict(page.key_numbers),
            "warnings": list(page.warnings),
            "sections": [section.title for section in page.sections],
            "charts": [{"name": chart.name, "title": chart.title} for chart in page.charts],
            "out": self.out,
            "size_bytes": self.size_bytes,
            "figures": list(self.figures),
        }


FORMATS: Final = ("png", "svg", "pdf")
PAGE: Final = "html"


def draw_charts(
    charts: Iterable[Chart],
    folder: str | Path,
    formats: Sequence[str] = FORMATS,
    on_progress: Progress = silent,
) -> tuple[str, ...]:
    """Draw each chart in each format and return the paths of the files, ``folder/<name>.<format>``.

    A published series is hollow. The folder is made where it is missing; files are written when all are drawn. Equal
    charts give equal bytes with one version of matplotlib.

    Raises
    ------
    InvalidInput
        For an unknown format, or a folder that cannot be made or written.
    """
    from topoopt.pages.paper_figure import draw  # noqa: PLC0415 - matplotlib takes a second to import

    suffixes, place, rows = check_formats(formats), _made_folder(folder), list(charts)
    files: dict[Path, bytes] = {}
    for done, chart in enumerate(rows):
        on_progress("drawing figures", done, len(rows))
        for name, data in draw(chart, suffixes).items():
            files[place / f"{chart.name}.{name}"] = data
    for path, data in files.items():
        write_bytes_atomically(path, data)
    return tuple(map(str, files))


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return the formats, each once; an unknown one is an :class:`InvalidInput`."""
    once = tuple(dict.fromkeys(formats))
    for name in once:
        check_known("format", name, FORMATS)
    return once


def _made_folder(folder: str | Path) -> Path:
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidInput(f"{folder}: is a file, expected a folder for the figures") from None
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{folder}: the folder for the figures cannot be made: {reason}") from None
    return place


def check_chart_file(path: str) -> str:
    """Return the kind of picture that a file name asks for.

    Raises
    ------
    InvalidInput
        For a suffix that is none of a picture's.
    """
    suffix = PurePath(path).suffix.lower().lstrip(".")
    if suffix not in (*FORMATS, PAGE):
        allowed = ", ".join(f".{name}" for name in (*FORMATS, PAGE))
        raise InvalidInput(f"figure: {path}: expected a file name that ends in one of {allowed}")
    return suffix


def write_chart(path: str | Path, chart: Chart) -> None:
    """Write a chart as ``.png``, ``.svg``, ``.pdf`` or ``.html``, whole or not at all; errors as the check's."""
    kind = check_chart_file(str(path))
    if kind == PAGE:
        section = Section("chart", "Chart", chart.note, (chart,))
        write_report(path, Page("sweep", chart.title, "", (), (), (section,)))
        return
    from topoopt.pages.paper_figure import draw  # noqa: PLC0415 - matplotlib takes a second to import

    write_bytes_atomically(path, draw(chart, (kind,))[kind])


def written_report_page(report: WrittenReport) -> Page:
    """Return what was written, as a page of its own."""
    page, figures = report.page, report.figures
    size = format_bytes(report.size_bytes)
    facts = (
        ("answer", page.headline),
        ("sections", ", ".join(section.title for section in page.sections)),
        ("page", f"{report.out}, {counted(len(page.charts), 'figure')}, {size}"),
        ("drawn", f"{counted(len(figures), 'file')} in {Path(figures[0]).parent}" if figures else ""),
    )
    blocks: tuple[Block, ...] = (
        Facts("", facts),
        *((Notes(page.warnings, warn=True),) if page.warnings else ()),
    )
    return Page(
        "report",
        page.heading,
        page.headline,
        (),
        (),
        (Section("report", "Report", "", blocks),),
        remark=f"report of a {page.kind}",
    )
