"""Values as a person reads them: numbers by the unit of their column, and settings, options and inputs as facts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import Any

from topoopt.base.answers import Provenance
from topoopt.base.units import format_bandwidth, format_bytes, format_digits, format_time
from topoopt.pages.chart import Series
from topoopt.pages.page import Facts, Section, Table


def usd(price: float | None) -> str:
    """Return a price in dollars to three digits, or a dash where there is none.

    Examples
    --------
    >>> [usd(price) for price in (2.47e9, 1.23e6, 83_260, 12, None)]
    ['$2.47 B', '$1.23 M', '$83.3 k', '$12', '–']
    """
    if price is None:
        return "–"
    for unit, scale in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if price >= scale:
            return f"${format_digits(price / scale, 3)} {unit}"
    return f"${price:,.0f}"


LONGEST = 60
"""Characters of a text in a table; all of it is in JSON and in files."""


def _percent(value: float) -> str:
    return f"{value:.1%}"


BY_ENDING: Mapping[str, Callable[[float], str]] = {
    "_per_s": lambda value: f"{value:,.0f} /s",
    "_s": format_time,
    "_bps": format_bandwidth,
    "_usd": usd,
    "_bytes": format_bytes,
    "bytes_max": format_bytes,
    "_w": lambda value: f"{value:,.0f} W",
    "gap": _percent,
    "mfu": _percent,
}
Forms = Mapping[str, Callable[[float], str]]


def heading(column: str, forms: Mapping[str, Any] = BY_ENDING) -> str:
    """Return a column's heading without the unit that is printed with its values.

    Examples
    --------
    >>> heading("link_bandwidth_bps")
    'link bandwidth'
    """
    unit = next((ending for ending in forms if ending[0] == "_" and column.endswith(ending)), "")
    return column.removesuffix(unit).replace("_", " ")


Source = str | Callable[[Any], Any]
"""Source of a value in a row: a path of names such as ``outcome.time_s``, or a function."""
Form = str | Callable[[Any], str]
"""Format of the value, such as ``.1%``, or a function; by the unit in the field's name if neither is given."""
Entries = Mapping[str, str | Iterable[str]]
"""A name with its text: one line, or several of which only the first has the name."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and the values below it; numbers are aligned to the right."""

    heading: str
    source: Source
    form: Form
    is_number: bool

    def of(self, row: Any) -> str:
        """Return a row's text in this column, a dash for None."""
        value = _value(row, self.source)
        if value is None:
            return "–"
        if callable(self.form):
            return self.form(value)
        if self.form:
            return format(value, self.form)
        return value if isinstance(value, str) else cell(str(self.source), value)


def facts_of(title: str, mapping: Mapping[str, Any]) -> Facts:
    """Return the entries of a mapping that are not mappings themselves.

    Examples
    --------
    >>> facts_of("Cluster", {"link_bandwidth_bps": 1e11, "look_ahead": True, "servers": 16}).rows
    (('link bandwidth', '100 Gb/s'), ('look ahead', 'yes'), ('servers', '16'))
    """
    plain = {key: value for key, value in mapping.items() if not isinstance(value, Mapping | None)}
    return facts(dict(_setting(key, value) for key, value in plain.items()), title)


def nested_facts(title: str, mapping: Mapping[str, Any]) -> tuple[Facts, ...]:
    """Return one block of the plain entries, and one more for each mapping inside."""
    inner = [
        facts_of(str(key).replace("_", " ").capitalize(), value)
        for key, value in mapping.items()
        if isinstance(value, Mapping)
    ]
    return tuple(block for block in (facts_of(title, mapping), *inner) if block.rows)


def trust_section(what: str, *blocks: Facts) -> Section:
    """Return the section about the basis of an answer."""
    caption = f"Inputs, options and versions: with these the same {what} is made again."
    return Section("trust", "What this rests on", caption, blocks, detail=True)


def inputs(provenance: Provenance) -> dict[str, str]:
    """Return the digests of an answer's inputs."""
    return {f"input {name}": digest for name, digest in sorted(provenance.inputs.items())}


def _setting(key: str, value: Any) -> tuple[str, str]:
    """Return name and value; a number that is printed with its unit has none in its name."""
    if isinstance(value, bool):
        return key.replace("_", " "), yes_or_no(value)
    if isinstance(value, int) and not key.endswith("_bps"):
        return key.replace("_", " "), f"{value:,}"
    if isinstance(value, int | float):
        return heading(key), cell(key, value)
    return key.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(
        value
    )


def facts(entries: Entries, title: str = "", tight: bool = False) -> Facts:
    """Return names and values, without missing values.

    Examples
    --------
    >>> facts({"rings": ["stride 1", "stride 5"], "routing": "ecmp", "rest": ""}).rows
    (('rings', 'stride 1'), ('', 'stride 5'), ('routing', 'ecmp'), ('rest', ''))
    """
    rows = []
    for name, value in entries.items():
        lines = [value] if isinstance(value, str) else value
        rows += [("" if index else name, line) for index, line in enumerate(lines)]
    return Facts(title, tuple(rows), tight=tight)


def text(heading: str, source: Source = "", form: Form = "") -> Column:
    """Return a text column; the source is by default the field named like the heading."""
    return Column(heading, source or heading, form, is_number=False)


def number(heading: str, source: Source = "", form: Form = "") -> Column:
    """Return a column of numbers; parameters as :func:`text`."""
    return Column(heading, source or heading, form, is_number=True)


def table(
    title: str, rows: Iterable[Any], *columns: Column, folded: bool = False, detail: bool = False
) -> Table:
    """Return a table of rows, which are objects or mappings, by columns.

    Examples
    --------
    >>> parts = [{"part": "SN2700", "ports": 32, "power_w": 250}]
    >>> table("", parts, text("part"), number("ports"), number("power", "power_w")).rows
    (('SN2700', '32', '250 W'),)
    """
    return Table(
        title,
        tuple(column.heading for column in columns),
        tuple(tuple(column.of(row) for column in columns) for row in rows),
        tuple(column.heading for column in columns if column.is_number),
        folded,
        detail,
    )


def joined(**parts: Iterable[Any]) -> list[dict[str, Any]]:
    """Return rows of things that belong together, each under its name.

    Examples
    --------
    >>> joined(part=["switch", "cable"], count=[1, 8])
    [{'part': 'switch', 'count': 1}, {'part': 'cable', 'count': 8}]
    """
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]


def bars(
    rows: Sequence[Any], names: Source, parts: Mapping[str, Source], scale: float = 1.0
) -> tuple[Series, ...]:
    """Return a series for each part, with a bar for each row: its value over ``scale``."""
    x = tuple(_value(row, names) for row in rows)
    return tuple(
        Series(part, x, tuple(_value(row, source) / scale for row in rows)) for part, source in parts.items()
    )


def _value(row: Any, source: Source) -> Any:
    return source(row) if callable(source) else reduce(_part, source.split("."), row)


def _part(row: Any, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else getattr(row, name)


def cell(column: str, value: Any, forms: Forms = BY_ENDING) -> str:
    """Return the text of a value, a dash for none; ``forms`` are the functions by the ending of a column's name.

    Examples
    --------
    >>> cell("tokens_per_s", 247200.4), cell("mfu", 0.4525)
    ('247,200 /s', '45.2%')
    >>> cell("iteration_time_s", 0.0201), cell("gap", 0.087), cell("plan_strides", [1, 5]), cell("cost_usd", None)
    ('20.1 ms', '8.7%', '1, 5', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    for ending, form in forms.items():
        if column.endswith(ending):
            return form(value)
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def short_number(value: float) -> str:
    """Return ``20``, ``0.5``, ``40 k`` or ``337 M``.

    Examples
    --------
    >>> [short_number(value) for value in (0, 0.25, 128, 40_000, 337e6)]
    ['0', '0.25', '128', '40 k', '337 M']
    """
    for unit, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= max(scale, 1e4):
            return f"{value / scale:.4g} {unit}".replace("-", "−")
    if value and abs(value) < 1e-4:
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")


def duration(time_s: float, digits: int = 4) -> str:
    """Return ``1.5 ms`` as :func:`topoopt.base.units.format_time` does, but ``25 min`` and ``30.2 h`` of long times.

    Only those below two minutes have more than three ``digits``.

    Examples
    --------
    >>> duration(0.066), duration(1500), duration(86_400)
    ('66 ms', '25 min', '24 h')
    """
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if time_s >= 2 * scale:
            return f"{format_digits(time_s / scale, 3)} {unit}"
    return format_time(time_s, digits)


def time_unit(longest_s: float) -> tuple[str, float]:
    """Return the unit that suits times up to the given one, and its seconds.

    Examples
    --------
    >>> time_unit(0.066), time_unit(86_400)
    (('ms', 0.001), ('h', 3600.0))
    """
    for unit, scale in (("h", 3600.0), ("s", 1.0), ("ms", 1e-3)):
        if longest_s >= 2 * scale:
            return unit, scale
    return "µs", 1e-6


def dollars(amount_usd: float | None) -> str:
    """Return ``$122``, ``$1.53``, ``$0.0042``, ``−$2.51 k`` or a dash where it is not known.

    Examples
    --------
    >>> [dollars(value) for value in (122.16, 1.526, 0.0042, -2512.0, 0.0, None)]
    ['$122', '$1.53', '$0.0042', '−$2.51 k', '$0', '–']
    """
    if amount_usd is None:
        return "–"
    sign, size = ("−" if amount_usd < 0 else ""), abs(amount_usd)
    if size >= 1000 or not size:
        return sign + usd(size)
    if size >= 1:
        return f"{sign}${size:,.0f}" if size >= 100 else f"{sign}${size:.2f}"
    return f"{sign}${size:.3g}"


def listed(names: Sequence[str]) -> str:
    """Return one or more names with commas and a last ``and``.

    Examples
    --------
    >>> listed(["torus", "rail", "fat-tree"]), listed(["torus"])
    ('torus, rail and fat-tree', 'torus')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def yes_or_no(value: bool) -> str:
    """Return ``yes`` or ``no``."""
    return "yes" if value else "no"


def counted(count: int, thing: str) -> str:
    """Return ``1 ring`` or ``4 rings``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def runs(numbers: Iterable[int]) -> str:
    """Return ``0–3, 7`` for (0, 1, 2, 3, 7).

    Examples
    --------
    >>> runs((0, 1, 2, 3, 7))
    '0–3, 7'
    """
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in stretches(numbers))


def stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of neighboring numbers."""
    neighbors = groupby(enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in neighbors]
    return [(run[0], run[-1]) for run in runs]
