"""The picture of ``topoopt results --plot``."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from topoopt.cli.output_file import check_writable
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.report import LineChart
    from topoopt.sweep import Lines, Results

PAGE = "html"
SUFFIXES = ("png", "svg", "pdf", PAGE)

SCALES = {"_bps": ("Gb/s", 1e9), "_s": ("ms", 1e-3), "_usd": ("1,000 $", 1e3), "_w": ("kW", 1e3)}
"""By the ending of a column: the unit on the axis, and how much of the column's it is."""


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What is to be drawn, and where."""

    x: str
    y: str
    by: tuple[str, ...]
    x_log: bool
    y_log: bool
    file: str


def check_figure(path: str) -> None:
    """Refuse a picture that could not be written.

    Raises
    ------
    InvalidInput
        As :func:`check_writable`, and for another suffix.
    """
    check_writable(path, "--figure")
    if PurePath(path).suffix.lower().lstrip(".") not in SUFFIXES:
        allowed = ", ".join(f".{suffix}" for suffix in SUFFIXES)
        raise InvalidInput(f"--figure: {path}: expected a file name that ends in one of {allowed}")


def draw(opened: "Results", request: ChartRequest, where: str | None) -> None:
    """Draw the chart into its file."""
    from topoopt.sweep import lines_of

    found = lines_of(opened, request.x, request.y, request.by, where)
    chart = chart_of(found, request, PurePath(opened.path).stem)
    place = PurePath(request.file)
    suffix = place.suffix.lower().lstrip(".")
    if suffix == PAGE:
        from topoopt.report import Page, Section, write_report

        section = Section("chart", "Chart", chart.note, (chart,))
        write_report(request.file, Page("sweep", chart.title, opened.path, (), (), (section,)))
        return
    from tempfile import TemporaryDirectory

    from topoopt.files import read_bytes, write_bytes_atomically
    from topoopt.report import draw_charts

    with TemporaryDirectory() as folder:
        (drawn,) = draw_charts((chart,), folder, (suffix,))
        write_bytes_atomically(request.file, read_bytes(drawn))


def chart_of(found: "Lines", request: ChartRequest, source: str) -> "LineChart":
    """Return the lines as a chart, in units that a person reads."""
    from topoopt.report import LineChart, Series

    x_label, x_scale = _scale(request.x)
    y_label, y_scale = _scale(request.y)
    series = tuple(
        Series(
            line.name or source,
            tuple(_scaled(value, x_scale) for value in line.x),
            tuple(value / y_scale for value in line.y),
        )
        for line in found.lines
    )
    title = f"{_words(request.y)} over {_words(request.x)}"
    return LineChart(
        PurePath(request.file).stem,
        title[:1].upper() + title[1:],
        x_label,
        y_label,
        series,
        request.x_log,
        request.y_log,
        _note(found),
    )


def _note(found: "Lines") -> str:
    from topoopt.cli.cells import cell

    parts = [", ".join(f"{_words(name)} {cell(name, value)}" for name, value in found.fixed)]
    if found.averaged:
        parts.append(f"mean over {', '.join(_words(name) for name in found.averaged)}")
    return "; ".join(part for part in parts if part)


def _scale(column: str) -> tuple[str, float]:
    for ending, (unit, scale) in SCALES.items():
        if column.isidentifier() and column.endswith(ending):
            return f"{_words(column)} ({unit})", scale
    return _words(column), 1.0


def _words(column: str) -> str:
    if not column.isidentifier():
        return column
    for ending in SCALES:
        column = column.removesuffix(ending)
    return column.replace("_", " ")


def _scaled(value: Any, scale: float) -> float | str:
    return value / scale if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
