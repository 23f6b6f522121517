"""A reproduced figure as text and as JSON."""

import math
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.reproduction import Comparison, Figure

COLUMNS = ("ours", "published", "ratio", "tolerance", "met", "from", "compared")
DASH = "–"


def print_list(titles: Mapping[str, str], as_json: bool) -> None:
    """Print the figures that can be made."""
    from topoopt.cli.render import print_json, print_table, terminal

    if as_json:
        print_json({"figures": [{"figure": name, "title": title} for name, title in titles.items()]})
        return
    print_table(terminal(), ("figure", "what it shows"), list(titles.items()))


def print_figure(console: "Console", figure: "Figure", files: Sequence[str]) -> None:
    """Print what is compared, why it differs, what to know, and where the rest is."""
    from topoopt.cli.render import print_facts, print_table, print_title
    from topoopt.reproduction import summary

    print_title(console, figure.name, figure.title)
    rows = figure.comparisons
    if rows:
        letters = dict(zip(dict.fromkeys(row.origin for row in rows), ascii_lowercase, strict=False))
        print_table(console, COLUMNS, [_cells(row, letters) for row in rows], numbers=COLUMNS[:4])
        console.print()
        print_facts(console, [(f"from {letter}", origin) for origin, letter in letters.items()])
        console.print()
    print_facts(console, [(DASH, text) for text in (*_reasons(rows), *figure.notes)])
    console.print()
    print_facts(
        console,
        [
            ("result", summary(rows)),
            ("rows", f"{len(figure.rows):,} in {files[0]}"),
            ("pictures", _named(files[1:])),
        ],
    )


def print_overview(console: "Console", figures: Sequence["Figure"]) -> None:
    """Print how many comparisons of each figure are met."""
    from topoopt.cli.render import print_table, print_title
    from topoopt.reproduction import summary

    print_title(console, "all figures")
    print_table(
        console,
        ("figure", "ours beside the published", "what it shows"),
        [(figure.name, summary(figure.comparisons), figure.title) for figure in figures],
    )


def figure_document(figure: "Figure", files: Sequence[str]) -> dict[str, Any]:
    """Return a figure as JSON holds it; a value that is no number is null."""
    return {
        "figure": figure.name,
        "title": figure.title,
        "comparisons": [
            {
                "what": row.what,
                "unit": row.unit,
                "ours": row.ours,
                "published_low": row.published_low,
                "published_high": row.published_high,
                "ratio": row.ratio,
                "tolerance": row.tolerance,
                "met": row.met,
                "origin": row.origin,
                "explanation": row.explanation,
            }
            for row in figure.comparisons
        ],
        "notes": list(figure.notes),
        "files": list(files),
        "rows": [{key: _plain(value) for key, value in row.items()} for row in figure.rows],
    }


def _cells(row: "Comparison", letters: Mapping[str, str]) -> list[str]:
    from topoopt.reproduction import compared, number, published, tolerance, verdict

    return [
        number(row.ours),
        published(row),
        f"{row.ratio:.3f}",
        tolerance(row),
        verdict(row),
        letters.get(row.origin, "–"),
        compared(row),
    ]


def _reasons(rows: Sequence["Comparison"]) -> list[str]:
    """Return why values differ, each reason once, with the first that it explains."""
    whats: dict[str, list[str]] = {}
    for row in rows:
        if row.explanation:
            whats.setdefault(row.explanation, []).append(row.what)
    return [f"{_first(those)}: {reason}" for reason, those in whats.items()]


def _first(whats: Sequence[str]) -> str:
    return whats[0] if len(whats) == 1 else f"{whats[0]}, and {len(whats) - 1} more"


def _named(pictures: Sequence[str]) -> str:
    """Return the pictures without their suffixes, and then all suffixes."""
    if not pictures:
        return ""
    stems = dict.fromkeys(path.rpartition(".")[0] for path in pictures)
    suffixes = dict.fromkeys(path.rpartition(".")[2] for path in pictures)
    return f"{', '.join(stems)} ({', '.join(suffixes)})"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
