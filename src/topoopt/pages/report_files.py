"""Pages and charts as files: a page as one HTML file that fetches nothing, and pictures by matplotlib.

The policy in the head of a page forbids every request and every script except those written here, so that the file
is self-contained wherever it is opened.

The files in ``assets/charts/`` are plain modules of JavaScript, which a server may hand out as they are. A page that
is one file cannot import; here each module becomes a function, called once after its imports.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path, PurePath
from posixpath import dirname, join, normpath
from string import Template
from typing import Any, Final

from topoopt.base.answers import Progress, __version__, fields_of, shows_itself, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.extras import library
from topoopt.base.units import format_bytes
from topoopt.pages.chart import BarChart, Chart, CircleChart, HeatmapChart, StagesChart, TimelineChart
from topoopt.pages.page import Block, Facts, Notes, Page, Section, Table, Tile
from topoopt.pages.screen import UNROLLED_FROM, figure
from topoopt.pages.tables import counted
from topoopt.schema.files import write_atomically, write_bytes_atomically

_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "(\.[^"]*)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|const) (\w+))", re.MULTILINE)


@shows_itself
@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A page in a file.

    Attributes
    ----------
    file : str or None
        File that was read; None for an answer passed in memory.
    figures : tuple of str
        Files of the figures for papers.
    """

    file: str | None
    page: Page
    out: str
    size_bytes: int
    figures: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping of the report and its files."""
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
            **fields_of(self, "out", "size_bytes"),
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
    library("matplotlib", "figures", "figures")
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
    """Return the kind of picture of a file name.

    Raises
    ------
    InvalidInput
        For a suffix that is none of a picture's.
    """
    suffix = PurePath(path).suffix.lower().lstrip(".")
    if suffix not in (*FORMATS, PAGE):
        allowed = ", ".join(f".{name}" for name in (*FORMATS, PAGE))
        raise InvalidInput(f"figure: {path}: expected a file name that ends in one of {allowed}")
    if suffix != PAGE:
        library("matplotlib", "figures", f"figure: {path}")
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
    """Return a page about the written report."""
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


def write_report(path: str | Path, page: Page) -> int:
    """Write a page as one file, whole or not at all, and return its bytes.

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    text = html(page)
    write_atomically(path, text)
    return len(text.encode())


def html(page: Page) -> str:
    """Return the whole file; equal pages give equal text."""
    script = bundle("page.js")
    links = (f'<a href="#{escape(one.key)}">{escape(one.title or one.key)}</a>' for one in page.sections)
    # the content security policy: no request at all, and no script but this
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(asset("report.html")).substitute(
        policy=policy,
        version=escape(__version__),
        heading=escape(page.heading),
        styles=f"{asset('report.css')}\n{asset('charts/charts.css')}",
        kind=escape(page.kind),
        headline=escape(page.headline),
        tiles="".join(map(_tile, page.tiles)),
        warnings=lines_html(page.warnings, ' class="warnings"') if page.warnings else "",
        links="".join(links),
        sections="\n".join(map(_section, page.sections)),
        figures=_figures(page),
        script=script,
    )


def _tile(tile: Tile) -> str:
    return (
        f"<div><dt>{escape(tile.name)}</dt><dd>{escape(tile.value)}</dd>"
        f'<dd class="remark">{escape(tile.remark)}</dd></div>'
    )


def _section(section: Section) -> str:
    blocks = "\n".join(map(_block, section.blocks, widths(section.blocks)))
    return (
        f'<section id="{escape(section.key)}">\n<h2>{escape(section.title or section.key)}</h2>\n'
        f'<p class="caption">{escape(section.caption)}</p>\n<div class="blocks">\n{blocks}\n</div>\n</section>'
    )


def widths(blocks: Sequence[Block]) -> list[str]:
    """Return the width of each block; a half alone in its row takes the full width."""
    maps = sum(isinstance(block, HeatmapChart) for block in blocks)
    result = [_width(block, maps) for block in blocks]
    alone = None
    for index, width in enumerate([*result, "whole"]):
        if width == "half":
            alone = index if alone is None else None
        elif alone is not None:
            result[alone] = "whole"
            alone = None
    return result


def _width(block: Block, maps: int) -> str:
    match block:
        case CircleChart():
            return "circle" if block.servers < UNROLLED_FROM else "whole"
        case TimelineChart() | StagesChart() | Notes():
            return "whole"
        case HeatmapChart() if maps == 3:
            return "third"
        case BarChart(horizontal=True) if len({x for one in block.series for x in one.x}) == 1:
            return "whole"
        case Table():
            return "half" if len(block.columns) <= 4 and not block.folded else "whole"
        case _:
            return "half"


def _block(block: Block, width: str) -> str:
    match block:
        case Table():
            numbers = [' class="number"' if column in block.numbers else "" for column in block.columns]
            inner = f'<div class="scroll">{table_html(block, numbers)}</div>'
            if block.folded:
                count = f'<span class="count">{len(block.rows):,} rows</span>'
                return f'<details class="table"><summary>{escape(block.title)} {count}</summary>{inner}</details>'
            return f'<div class="table {width}">{_heading(block.title)}{inner}</div>'
        case Facts():
            rows = "".join(
                f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                for name, value in block.rows
                if value
            )
            return f'<div class="facts {width}">{_heading(block.title)}<dl>{rows}</dl></div>'
        case Notes():
            return lines_html(block.lines, f' class="{"notes warnings" if block.warn else "notes"} whole"')
        case _:
            note = f"<figcaption>{escape(block.note)}</figcaption>" if block.note else ""
            return (
                f'<figure class="{width}" data-chart="{escape(block.name)}"><h3>{escape(block.title)}</h3>'
                f'<div class="plot" role="group" aria-label="{escape(block.title)}"></div>{note}</figure>'
            )


def _heading(title: str) -> str:
    """Return the heading of a block; none where the section's suffices."""
    return f"<h3>{escape(title)}</h3>" if title else ""


def table_html(table: Table, attributes: Sequence[str]) -> str:
    """Return a table whose cells have these attributes, by column."""
    rows = "\n".join(f"<tr>{_cells('td', row, attributes)}</tr>" for row in table.rows)
    names = _cells("th", table.columns, [f' scope="col"{each}' for each in attributes])
    head = f"<thead><tr>{names}</tr></thead>\n" if any(table.columns) else ""
    return f"<table>{head}<tbody>\n{rows}\n</tbody></table>"


def _cells(tag: str, words: Sequence[str], attributes: Sequence[str]) -> str:
    pairs = zip(words, attributes, strict=True)
    return "".join(f"<{tag}{attribute}>{escape(word)}</{tag}>" for word, attribute in pairs)


def lines_html(lines: Sequence[str], attributes: str = "") -> str:
    """Return lines as a list."""
    return f"<ul{attributes}>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _figures(page: Page) -> str:
    """Return the figures as JSON in which no tag can begin or end."""
    figures = [figure(chart) for chart in page.charts]
    text = json.dumps(figures, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def bundle(entry: str) -> str:
    """Return the module of that name in ``assets/`` and all that it imports as one strict script."""
    order: list[str] = []
    _needed(entry, order)
    parts = "\n".join(f"modules[{_quoted(name)}] = (() => {{\n{_module(name)}}})();" for name in order)
    text = f'"use strict";\n(() => {{\nconst modules = {{}};\n{parts}\n}})();\n'
    assert "</script" not in text.lower()
    return text


def asset(name: str) -> str:
    """Return the text of a file in ``assets/``."""
    return files("topoopt.pages").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def _needed(name: str, order: list[str]) -> None:
    """Append a module after its imports, each once."""
    for match in _IMPORT.finditer(asset(name)):
        _needed(_resolved(name, match[2]), order)
    if name not in order:
        order.append(name)


def _module(name: str) -> str:
    text = asset(name)
    names = [match[1] for match in _EXPORT.finditer(text)]
    text = _IMPORT.sub(
        lambda match: f"const {{ {match[1]} }} = modules[{_quoted(_resolved(name, match[2]))}];", text
    )
    return f"{_EXPORT.sub('', text)}return {{ {', '.join(names)} }};\n"


def _resolved(name: str, path: str) -> str:
    return normpath(join(dirname(name), path))


def _quoted(name: str) -> str:
    return f'"{name}"'
