"""A reproduced figure as a page: what is compared, why it differs, what to know, and where the rest is."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

from topoopt.pages import Chart, Facts, Page, Section, Table
from topoopt.plugins.papers.cells import compared, number, published, reasons, summary, tolerance, verdict
from topoopt.plugins.papers.figure import Comparison, Figure

COLUMNS = ("ours", "published", "ratio", "tolerance", "met", "from", "compared")
DASH = "–"


def figure_page(figure: Figure, files: Sequence[str] = ()) -> Page:
    """Return a figure as a page; ``files`` are its rows and then its pictures, where they are written."""
    rows = figure.comparisons
    blocks: list[Table | Facts | Chart] = []
    if rows:
        letters = dict(zip(dict.fromkeys(row.origin for row in rows), ascii_lowercase, strict=False))
        blocks.append(Table("", COLUMNS, tuple(_cells(row, letters) for row in rows), COLUMNS[:4]))
        blocks.append(Facts("", tuple((f"from {letter}", origin) for origin, letter in letters.items())))
    known = tuple((DASH, text) for text in (*_reasons(rows), *figure.notes))
    written = (
        (("rows", f"{len(figure.rows):,} in {files[0]}"), ("pictures", _named(files[1:]))) if files else ()
    )
    blocks += [
        Facts("", known, tight=not rows),
        Facts("", (("result", summary(rows)), *written)),
        *figure.charts,
    ]
    return Page(
        "figure", figure.name, "", (), (), (Section("figure", "Figure", "", tuple(blocks)),), {}, figure.title
    )


def overview_page(figures: Sequence[Figure]) -> Page:
    """Return how many comparisons of each figure are met."""
    table = Table(
        "",
        ("figure", "ours beside the published", "what it shows"),
        tuple((figure.name, summary(figure.comparisons), figure.title) for figure in figures),
    )
    return Page("figures", "all figures", "", (), (), (Section("figures", "Figures", "", (table,)),))


def _cells(row: Comparison, letters: Mapping[str, str]) -> tuple[str, ...]:
    return (
        number(row.ours),
        published(row),
        f"{row.ratio:.3f}",
        tolerance(row),
        verdict(row),
        letters.get(row.origin, DASH),
        compared(row),
    )


def _reasons(rows: Sequence[Comparison]) -> list[str]:
    """Return why values differ, each reason once, with the first that it explains."""
    lines = []
    for reason, (first, *more) in reasons(rows).items():
        what = rows[first - 1].what
        lines.append(f"{what}, and {len(more)} more: {reason}" if more else f"{what}: {reason}")
    return lines


def _named(pictures: Sequence[str]) -> str:
    """Return the pictures without their suffixes, and then all suffixes."""
    if not pictures:
        return ""
    stems = dict.fromkeys(path.rpartition(".")[0] for path in pictures)
    suffixes = dict.fromkeys(path.rpartition(".")[2] for path in pictures)
    return f"{', '.join(stems)} ({', '.join(suffixes)})"
