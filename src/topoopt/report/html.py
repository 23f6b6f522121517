"""A page as one HTML file: text, styles, figures and scripts inside, nothing fetched from anywhere.

The policy in its head forbids every request and every script but those written here, so that the file stays what it is
wherever it is opened.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from topoopt.files import write_atomically
from topoopt.report.chart import BarChart, Chart, CircleChart, HeatmapChart, TimelineChart
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table, Tile
from topoopt.report.screen import colors, figure
from topoopt.version import __version__

SCRIPTS = ("charts.js", "circle.js", "page.js")


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
    scripts = [_plotly(), *(_asset(name) for name in SCRIPTS)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="topoopt {__version__}">',
            f"<title>{escape(page.heading)} · topoopt</title>",
            f"<style>{_asset('report.css')}</style>",
            "</head>",
            "<body>",
            *_body(page),
            f'<script type="application/json" id="figures">{_figures(page)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>\n",
        ]
    )


def _body(page: Page) -> list[str]:
    links = "".join(
        f'<a href="#{escape(one.key)}">{escape(one.title or one.key)}</a>' for one in page.sections
    )
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in page.warnings)
    return [
        '<a class="skip" href="#content">To the content</a>',
        "<header>",
        f'<p class="kind"><span>topoopt</span> report of a {escape(page.kind)}</p>',
        '<button id="theme" type="button">Dark</button>',
        f"<h1>{escape(page.heading)}</h1>",
        f'<p class="headline">{escape(page.headline)}</p>',
        f'<dl class="tiles">{"".join(map(_tile, page.tiles))}</dl>',
        f'<ul class="warnings">{warnings}</ul>' if warnings else "",
        "</header>",
        f'<nav aria-label="Sections">{links}</nav>',
        "<noscript><p>The figures of this page are drawn by a script, which is switched off here.</p></noscript>",
        '<main id="content">',
        *map(_section, page.sections),
        "</main>",
        f"<footer>Made by topoopt {escape(__version__)}. This file needs no network and asks for none.</footer>",
    ]


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
    """Return how wide each block is; a half that stands alone in its row is as wide as the page."""
    maps = sum(isinstance(block, HeatmapChart) for block in blocks)
    found = [_width(block, maps) for block in blocks]
    alone = None
    for index, width in enumerate([*found, "whole"]):
        if width == "half":
            alone = index if alone is None else None
        elif alone is not None:
            found[alone] = "whole"
            alone = None
    return found


def _width(block: Block, maps: int) -> str:
    match block:
        case CircleChart():
            return "circle"
        case TimelineChart() | Notes():
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
            return _table(block, width)
        case Facts():
            return _facts(block, width)
        case Notes():
            return _notes(block)
        case _:
            return _figure(block, width)


def _figure(chart: Chart, width: str) -> str:
    note = f"<figcaption>{escape(chart.note)}</figcaption>" if chart.note else ""
    return (
        f'<figure class="{width}" data-chart="{escape(chart.name)}"><h3>{escape(chart.title)}</h3>'
        f'<div class="plot" role="group" aria-label="{escape(chart.title)}"></div>{note}</figure>'
    )


def _table(table: Table, width: str) -> str:
    numbers = [' class="number"' if column in table.numbers else "" for column in table.columns]
    head = "".join(
        f'<th scope="col"{kind}>{escape(column)}</th>'
        for column, kind in zip(table.columns, numbers, strict=True)
    )
    rows = "\n".join(
        f"<tr>{''.join(f'<td{kind}>{escape(cell)}</td>' for cell, kind in zip(row, numbers, strict=True))}</tr>"
        for row in table.rows
    )
    inner = (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
    )
    if table.folded:
        count = f'<span class="count">{len(table.rows):,} rows</span>'
        return f'<details class="table"><summary>{escape(table.title)} {count}</summary>{inner}</details>'
    return f'<div class="table {width}"><h3>{escape(table.title)}</h3>{inner}</div>'


def _facts(facts: Facts, width: str) -> str:
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.rows if value
    )
    return f'<div class="facts {width}"><h3>{escape(facts.title)}</h3><dl>{rows}</dl></div>'


def _notes(notes: Notes) -> str:
    kind = "notes warnings" if notes.warn else "notes"
    return f'<ul class="{kind} whole">{"".join(f"<li>{escape(line)}</li>" for line in notes.lines)}</ul>'


def _figures(page: Page) -> str:
    """Return the figures as JSON in which no tag can begin or end."""
    document = {"colors": colors(), "figures": [figure(chart) for chart in page.charts]}
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _policy(scripts: list[str]) -> str:
    """Return the content security policy: no request at all, and no script but these."""
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _plotly() -> str:
    text = files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    return text


def _asset(name: str) -> str:
    return files("topoopt.report").joinpath("assets", name).read_text(encoding="utf-8")
