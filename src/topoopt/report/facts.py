"""Settings and options as names and values that read well."""

from collections.abc import Iterator, Mapping
from typing import Any

from topoopt.report.page import Facts
from topoopt.units import format_bandwidth, format_time


def facts_of(title: str, mapping: Mapping[str, Any]) -> Facts:
    """Return the entries of a mapping that hold no mapping themselves.

    Examples
    --------
    >>> facts_of("Cluster", {"link_bandwidth_bps": 1e11, "look_ahead": True, "servers": 16}).rows
    (('link bandwidth', '100 Gb/s'), ('look ahead', 'yes'), ('servers', '16'))
    """
    return Facts(title, tuple(_rows(mapping)))


def nested_facts(title: str, mapping: Mapping[str, Any]) -> tuple[Facts, ...]:
    """Return one block of the plain entries, and one more for each mapping inside."""
    inner = [
        facts_of(str(key).replace("_", " ").capitalize(), value)
        for key, value in mapping.items()
        if isinstance(value, Mapping)
    ]
    return tuple(block for block in (facts_of(title, mapping), *inner) if block.rows)


def _rows(mapping: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            continue
        name = str(key).replace("_", " ")
        if isinstance(value, bool):
            yield name, "yes" if value else "no"
        elif str(key).endswith("_bps") and isinstance(value, int | float):
            yield name.removesuffix(" bps"), format_bandwidth(value)
        elif str(key).endswith("_s") and isinstance(value, float):
            yield name.removesuffix(" s"), format_time(value)
        elif isinstance(value, int):
            yield name, f"{value:,}"
        elif isinstance(value, float):
            yield name, f"{value:g}"
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(map(str, value))
        elif value is not None:
            yield name, str(value)
