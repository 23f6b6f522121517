"""A comparison in words: what a table of the terminal and a page say alike."""

from collections.abc import Sequence

from topoopt.plugins.papers.figure import Comparison


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
    """Return how far off is still met; ``exact`` where nothing is."""
    if row.tolerance is None:
        return "–"
    return "exact" if row.tolerance < 1e-6 else f"{row.tolerance * 100:.2g} %"


def verdict(row: Comparison) -> str:
    """Return ``yes``, ``no``, or ``reported`` where no tolerance is set."""
    return {True: "yes", False: "no", None: "reported"}[row.met]


def compared(row: Comparison) -> str:
    """Return what is compared, with its unit."""
    return f"{row.what}, {row.unit}" if row.unit else row.what


def summary(rows: tuple[Comparison, ...]) -> str:
    """Return how many comparisons are met.

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
    """Return why values differ, each reason once, with the numbers of its rows, the first of which is 1."""
    numbers: dict[str, list[int]] = {}
    for number_of_row, row in enumerate(rows, 1):
        if row.explanation:
            numbers.setdefault(row.explanation, []).append(number_of_row)
    return numbers
