"""Charts as files: pictures by matplotlib, equal bytes for equal charts, or a page for the browser."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Final

from topoopt.base.errors import InvalidInput, check_known
from topoopt.pages.chart import Chart
from topoopt.pages.html import write_report
from topoopt.pages.page import Page, Section
from topoopt.schema.files import write_bytes_atomically

FORMATS: Final = ("png", "svg", "pdf")
PAGE: Final = "html"

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def draw_charts(
    charts: Iterable[Chart],
    folder: str | Path,
    formats: Sequence[str] = FORMATS,
    on_progress: Progress = _silent,
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
