"""What an answer rests on as names and values that read well: settings, options, inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from topoopt.base.provenance import Provenance
from topoopt.pages.chart import Series
from topoopt.pages.number_format import cell, heading, yes_or_no
from topoopt.pages.page import Facts, Section, Table

Source = str | Callable[[Any], Any]
"""Where a row has the value: a path of names such as ``outcome.time_s``, or a function."""
Form = str | Callable[[Any], str]
"""How the value is written: a format such as ``.1%``, or a function; by the unit in the field's name if neither."""
Entries = Mapping[str, str | Iterable[str]]
"""A name, and what is said of it: a line, or several of which only the first bears the name."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and what stands below it; numbers are aligned to the right."""

    heading: str
    source: Source
    form: Form
    is_number: bool

    def of(self, row: Any) -> str:
        """Return what a row has in this column, a dash for nothing."""
        value = _value(row, self.source)
        if value is None:
            return "–"
        if callable(self.form):
            return self.form(value)
        if self.form:
            return format(value, self.form)
        return value if isinstance(value, str) else cell(str(self.source), value)


def facts_of(title: str, mapping: Mapping[str, Any]) -> Facts:
    """Return the entries of a mapping that hold no mapping themselves.

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
    """Return what an answer rests on."""
    caption = f"Inputs, options and versions: with these the same {what} is made again."
    return Section("trust", "What this rests on", caption, blocks, detail=True)


def inputs(provenance: Provenance) -> dict[str, str]:
    """Return the digests of what an answer was made of."""
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
    """Return names and values; what has no value is not shown.

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
    """Return a column of words; the source is the field called like the heading where none is named."""
    return Column(heading, source or heading, form, is_number=False)


def number(heading: str, source: Source = "", form: Form = "") -> Column:
    """Return a column of numbers; parameters as :func:`text`."""
    return Column(heading, source or heading, form, is_number=True)


def table(
    title: str, rows: Iterable[Any], *columns: Column, folded: bool = False, detail: bool = False
) -> Table:
    """Return what the columns say of each row, which is a noun or a mapping.

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
