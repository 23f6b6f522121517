"""What an answer rests on as names and values that read well: settings, options, inputs."""

from collections.abc import Mapping
from typing import Any

from topoopt.base.provenance import Provenance
from topoopt.pages.cells import cell, heading
from topoopt.pages.page import Facts, Section
from topoopt.pages.rows import facts
from topoopt.pages.words import yes_or_no


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
