"""The results as a page in Markdown: every figure with what the paper shows, ours beside it, and why they differ."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from topoopt.pages import Chart, draw_charts
from topoopt.plugins.papers import cells
from topoopt.plugins.papers.figure import Comparison, Figure
from topoopt.plugins.papers.studies import find_study
from topoopt.schema.files import write_atomically

PICTURES = "pictures/reproduction"
"""Folder of the pictures, from that of the page."""
PICTURE_PIXELS = 420


def page(figures: Sequence[Figure]) -> str:
    """Return the whole page."""
    overview = _table(
        ("figure", "what", "ours beside the published"),
        ((f"[{row.name}](#{row.name})", row.title, cells.summary(row.comparisons)) for row in figures),
    )
    head = (files("topoopt.plugins.papers") / "data" / "page.md").read_text(encoding="utf-8")
    return head + "\n" + overview + "\n\n" + "\n".join(section(figure) for figure in figures)


def section(figure: Figure) -> str:
    """Return the part of the page that is one figure's; equal results give equal text."""
    parts = [f"## {figure.name}", f"**{figure.title}**", f"*The paper:* {find_study(figure.name).shown}"]
    if figure.comparisons:
        parts += [_compared(figure.comparisons), *_explained(figure.comparisons)]
    if figure.notes:
        parts += ["How it was made:", "\n".join(f"- {note}" for note in figure.notes)]
    if figure.charts:
        parts.append("\n".join(_picture(chart) for chart in figure.charts))
    return "\n\n".join(parts) + "\n"


def _compared(rows: tuple[Comparison, ...]) -> str:
    return _table(
        ("#", "compared", "ours", "published", "ratio", "tolerance", "met", "origin of the published value"),
        (
            (
                str(index),
                cells.compared(row),
                cells.number(row.ours),
                cells.published(row),
                f"{row.ratio:.3f}",
                cells.tolerance(row),
                cells.verdict(row) if row.met is not False else "**no**",
                row.origin,
            )
            for index, row in enumerate(rows, 1)
        ),
    )


def _explained(rows: tuple[Comparison, ...]) -> list[str]:
    """Return what is to say of the rows, each thing once, with the numbers of its rows."""
    lines = [
        f"- Row{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {reason}"
        for reason, numbers in cells.reasons(rows).items()
    ]
    return ["Explained:", "\n".join(lines)] if lines else []


def _picture(chart: Chart) -> str:
    # HTML, for two of them to stand beside each other.
    return f'<img src="{PICTURES}/{chart.name}.svg" alt="{chart.title}" width="{PICTURE_PIXELS}">'


NUMBERS = {"#", "ours", "published", "ratio", "tolerance"}


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["--:" if title in NUMBERS else "---" for title in titles]
    lines: list[Sequence[str]] = [titles, rules, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def write_figures_page(figures: Sequence[Figure], path: str) -> None:
    """Write the page of all figures, with its pictures beside it."""
    for figure in figures:
        draw_charts(figure.charts, Path(path).parent / PICTURES, ("svg",))
    write_atomically(path, page(figures))
