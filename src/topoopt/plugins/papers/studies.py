"""``topoopt.reproduce``, its table of studies, and their results as a page in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import ascii_lowercase

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.pages import Chart, Facts, Page, Section, Table, draw_charts
from topoopt.plugins.papers.cassini import cassini
from topoopt.plugins.papers.fig10 import fig10, table1
from topoopt.plugins.papers.fig11 import fig11
from topoopt.plugins.papers.fig12_to_15 import fig12, fig13, fig14, fig15
from topoopt.plugins.papers.fig16_17 import fig16, fig17
from topoopt.plugins.papers.figure import Comparison, Figure, Study, StudySettings, description
from topoopt.plugins.papers.mixnet import mixnet
from topoopt.plugins.papers.mltcp import mltcp
from topoopt.plugins.papers.motivation import motivation
from topoopt.plugins.papers.serving import serving
from topoopt.plugins.papers.testbed import testbed
from topoopt.plugins.papers.wirings import wirings
from topoopt.schema.files import write_atomically
from topoopt.schema.words import checked_arguments


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One figure of the paper.

    Attributes
    ----------
    study : function
        Makes the figure anew.
    shown : str
        Description of the paper's figure, in a sentence or two.
    measured : bool
        Whether it is measured on this host, and so never the same twice: it is made when it is named, and not among
        all figures.
    """

    title: str
    study: Study
    shown: str
    measured: bool = False


MEASURED = ("testbed",)
STUDIES: Mapping[str, StudyEntry] = {
    name: StudyEntry(description(name).title, study, description(name).shown, name in MEASURED)
    for name, study in {  # in the order of the paper
        "motivation": motivation,
        "fig10": fig10,
        "fig11": fig11,
        "fig12": fig12,
        "fig13": fig13,
        "fig14": fig14,
        "fig15": fig15,
        "fig16": fig16,
        "fig17": fig17,
        "testbed": testbed,
        "table1": table1,
        "mixnet": mixnet,
        "cassini": cassini,
        "mltcp": mltcp,
        "wirings": wirings,
        "serving": serving,
    }.items()
}
COLUMNS = ("ours", "published", "ratio", "tolerance", "met", "from", "compared")
DASH = "–"
PICTURES = "pictures/reproduction"
"""Folder of the pictures, from that of the page."""
PICTURE_PIXELS = 420


def page(figures: Sequence[Figure]) -> str:
    """Return the whole page."""
    overview = _table(
        ("figure", "what", "ours beside the published"),
        ((f"[{row.name}](#{row.name})", row.title, summary(row.comparisons)) for row in figures),
    )
    head = (files("topoopt.plugins.papers") / "data" / "page.md").read_text(encoding="utf-8")
    return head + "\n" + overview + "\n\n" + "\n".join(section(figure) for figure in figures)


def section(figure: Figure) -> str:
    """Return the part of the page that is one figure's; equal results give equal text."""
    parts = [f"## {figure.name}", f"**{figure.title}**", f"*The paper:* {find_study(figure.name).shown}"]
    if figure.comparisons:
        lines = [
            f"- Row{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {reason}"
            for reason, numbers in reasons(figure.comparisons).items()
        ]
        explained = ["Explained:", "\n".join(lines)] if lines else []
        parts += [_compared(figure.comparisons), *explained]
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
                compared(row),
                number(row.ours),
                published(row),
                f"{row.ratio:.3f}",
                tolerance(row),
                verdict(row) if row.met is not False else "**no**",
                row.origin,
            )
            for index, row in enumerate(rows, 1)
        ),
    )


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
    """Return the number of matching comparisons of each figure."""
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
    """Return the reasons for differences, each once, with the first value that it explains."""
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


def number(value: float) -> str:
    """Return a value with four digits that count; whole numbers keep all of theirs.

    Examples
    --------
    >>> number(337163664), number(1.11134), number(0.0000115), number(10)
    ('337,163,664', '1.111', '1.15e-05', '10')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def published(row: Comparison) -> str:
    """Return the published value, or the ends of its range."""
    ends = dict.fromkeys((number(row.published_low), number(row.published_high)))
    return "–".join(ends)


def tolerance(row: Comparison) -> str:
    """Return the tolerance; ``exact`` where there is none."""
    if row.tolerance is None:
        return "–"
    return "exact" if row.tolerance < 1e-6 else f"{row.tolerance * 100:.2g}%"


def verdict(row: Comparison) -> str:
    """Return ``yes``, ``no``, or ``reported`` where no tolerance is set."""
    return {True: "yes", False: "no", None: "reported"}[row.met]


def compared(row: Comparison) -> str:
    """Return the subject of the comparison, with its unit."""
    return f"{row.what}, {row.unit}" if row.unit else row.what


def summary(rows: tuple[Comparison, ...]) -> str:
    """Return the number of matching comparisons.

    Examples
    --------
    >>> row = Comparison("hops", "", 2.0, 2.0, 2.0, 0.0, "the talk")
    >>> summary((row, row)), summary((Comparison("hops", "", 2.0, 3.0, 3.0, None, "the talk"),))
    ('2 of 2 met', '1 reported')
    """
    held = [row for row in rows if row.met is not None]
    words = [f"{sum(bool(row.met) for row in held)} of {len(held)} met"] if held else []
    if len(held) < len(rows):
        words.append(f"{len(rows) - len(held)} reported")
    return ", ".join(words) or "nothing published to compare with"


def reasons(rows: Sequence[Comparison]) -> dict[str, list[int]]:
    """Return the reasons for differences, each once, with the numbers of its rows, counted from 1."""
    numbers: dict[str, list[int]] = {}
    for number_of_row, row in enumerate(rows, 1):
        if row.explanation:
            numbers.setdefault(row.explanation, []).append(number_of_row)
    return numbers


def find_study(name: str) -> StudyEntry:
    """Return a study by its name; an unknown one is an :class:`~topoopt.base.errors.InvalidInput` with the nearest."""
    if name not in STUDIES:
        raise unknown_name("figure", name, [*STUDIES, "all", "list"])
    return STUDIES[name]


@checked_arguments
def reproduce(name: str, *, quick: bool = False, seed: int = 0, on_progress: Progress = silent) -> Figure:
    """Reproduce a figure of the paper: ours beside the published.

    Parameters
    ----------
    name
        A key of :func:`topoopt.reproducible`, such as ``fig13``.
    quick
        Fewer points and smaller searches.
    seed
        Random seed of searches and random graphs.
    on_progress
        Progress callback: stage, items done, and total.

    Returns
    -------
    Figure

    Raises
    ------
    InvalidInput
        For an unknown figure.

    Examples
    --------
    >>> import topoopt
    >>> table = topoopt.reproduce("table1", quick=True)
    >>> all(row.met for row in table.comparisons if row.met is not None)
    True
    """
    if seed < 0:
        raise InvalidInput(f"seed: expected an integer >= 0, got {seed}")
    return find_study(name).study(StudySettings(quick, seed), on_progress)


def reproducible(measured: bool = True) -> Mapping[str, str]:
    """Return the figures that :func:`topoopt.reproduce` makes, with their titles.

    Parameters
    ----------
    measured
        Whether to include figures measured on this host that need root, such as ``testbed``.
    """
    return {key: entry.title for key, entry in STUDIES.items() if measured or not entry.measured}
