"""Flags as the words of the library: those that were given, by the same names."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput

ARGUMENT = "source"
"""The field of a group of flags that is an argument, not a word."""


def words(*groups: Any) -> dict[str, Any]:
    """Return the flags that were given, of several dataclasses of flags."""
    found: dict[str, Any] = {}
    for group in groups:
        for item in fields(group):
            value = getattr(group, item.name)
            if item.name != ARGUMENT and value is not None and value != []:
                found[item.name] = value
    if "fabrics" in found:
        found["fabrics"] = listed(found["fabrics"])
    if "set" in found:
        found["set"] = changes(found["set"])
    return found


def given(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that have a value; a flag that was not given has none."""
    return {word: value for word, value in chosen.items() if value is not None}


def changes(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return ``KEY=VALUE`` texts as a mapping, keys with underscores.

    Raises
    ------
    InvalidInput
        If one is no such text, or a key is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f'set: expected KEY=VALUE such as tables=32, got "{pair}"')
        name = key.strip().replace("-", "_")
        if name in found:
            raise InvalidInput(f"set: {name} is given twice, {found[name]} and {value.strip()}")
        found[name] = value.strip()
    return found
