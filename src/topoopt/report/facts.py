"""Names and values that read well: of an answer, and of the settings and options behind it."""

from collections.abc import Iterable, Mapping
from typing import Any

from topoopt.provenance import Provenance
from topoopt.report.cells import cell, heading
from topoopt.report.page import Facts, Section
from topoopt.report.words import yes_or_no

Entries = Mapping[str, str | Iterable[str]]
"""A name, and what is said of it: a line, or several of which only the first bears the name."""


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
